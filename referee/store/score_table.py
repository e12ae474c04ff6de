"""Judgements of runs, with their checks and confidence intervals."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpirc_power.energy import Check
from referee.errors import RefereeError
from referee.store.acts import Act, put_on_record
from referee.store.database import Database
from referee.store.event_chain import Event, append_event
from referee.store.records import (
    BOOTSTRAP,
    IMAGES_SEEN,
    RunState,
    Score,
    ScoreInterval,
)
from referee.store.run_rules import Rules, read_rules
from referee.store.schema import columns_of, insert

_FIGURES = [name for name in columns_of("scores") if name not in ("id", "ap")]
_INTERVAL = [*ScoreInterval.__dataclass_fields__]
_JUDGEMENT = "judged_utc, map, energy_wh, score, signature, rules"
_LATEST = (
    "SELECT * FROM scores LEFT JOIN intervals AS i ON i.score = scores.id"
    " WHERE scores.id IN (SELECT max(id) FROM scores GROUP BY run)"
)
_TOLD = "SELECT score, code, ok, severity, sentence, figures FROM checks WHERE NOT ok OR code = ?"


@dataclass(frozen=True)
class Judgement:
    """One judgement of a run, as published: its figures, and the rules used (None: the run has no recorded rules)."""

    judged_utc: str
    map: float
    energy_wh: float | None
    score: float | None
    signature: str
    rules: Rules | None


_MARK = (
    "SELECT (SELECT coalesce(max(id), 0) FROM scores) AS scores, (SELECT count(*) FROM intervals) AS intervals,"
    " (SELECT coalesce(max(id), 0) FROM reviews) AS reviews,"
    " (SELECT coalesce(max(id), 0) FROM decisions) AS decisions"
)


class ScoreTable:
    """The judgements of runs; append-only. The latest judgement of a run is the valid one."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self,
        score: Score,
        state: RunState | None = None,
        maps: NDArray[np.float64] | None = None,
        events: Sequence[Event] = (),
        act: Act | None = None,
    ) -> None:
        """Append a judgement with its checks and its events, in one transaction.

        `maps` (R,) are the mAPs of the half-samples behind its interval; with None no interval is stored. If
        `state` is given, the run must still be in it and becomes judged; RefereeError `run-state` is raised if it is in
        another state.
        """
        rules = None if score.rules is None else score.rules.text
        others = _text(score.others)
        values = vars(score) | {"id": None, "ap": json.dumps(score.ap), "rules": rules}
        values["others"] = others
        values["energy_budget"] = _text(score.energy_budget)
        sql = "UPDATE runs SET state = 'judged' WHERE id = ? AND state = ?"
        with self._database.transaction() as connection:
            if state and not connection.execute(sql, (score.run, state)).rowcount:
                raise RefereeError(
                    "run-state", f"Run {score.run} is no longer {state}.", run=score.run
                )
            number = connection.execute(insert("scores"), values).lastrowid
            of_score = {"run": score.run, "score": number}
            checks = []
            for check in score.checks:
                figures = json.dumps(check.figures)
                checks.append(vars(check) | of_score | {"figures": figures})
            connection.executemany(insert("checks"), checks)
            if score.interval is not None and maps is not None:
                _insert_interval(connection, number, score.interval, maps)
            put_on_record(connection, act)
            for event in events:
                append_event(connection, *event)

    def latest(self, run: int) -> Score | None:
        """Return the latest judgement of a run, or None if it is not judged."""
        rows = self._database.rows(
            "SELECT * FROM scores WHERE run = ? ORDER BY id DESC LIMIT 1", run
        )
        if not rows:
            return None
        figures = dict(rows[0])
        number = figures.pop("id")
        figures["ap"] = {
            int(category): ap for category, ap in json.loads(figures["ap"]).items()
        }
        figures["rules"] = read_rules(figures["rules"])
        figures["others"] = _read(figures["others"])
        figures["energy_budget"] = _read(figures["energy_budget"])
        checks = tuple(
            Check(
                c["code"],
                bool(c["ok"]),
                c["severity"],
                c["sentence"],
                json.loads(c["figures"]),
            )
            for c in self._database.rows(
                "SELECT * FROM checks WHERE score = ? ORDER BY rowid", number
            )
        )
        intervals = self._database.rows(
            "SELECT * FROM intervals WHERE score = ?", number
        )
        return Score(
            **figures,
            checks=checks,
            interval=_interval(intervals[0]) if intervals else None,
        )

    def newest_signature(self, scored_by: str) -> str | None:
        """Return the signature of the newest judgement by this metric or task; None without one."""
        query = (
            "SELECT signature FROM scores WHERE substr(signature, 1, ?) = ?"
            " ORDER BY id DESC LIMIT 1"
        )
        begin = f"{scored_by}|"
        rows = self._database.rows(query, len(begin), begin)
        return rows[0]["signature"] if rows else None

    def judgements(self, run: int) -> list[Judgement]:
        """Return all judgements of a run, oldest first."""
        query = f"SELECT {_JUDGEMENT} FROM scores WHERE run = ? ORDER BY id"  # noqa: S608 - a constant
        rows = self._database.rows(query, run)
        return [
            Judgement(**(dict(row) | {"rules": read_rules(row["rules"])}))
            for row in rows
        ]

    def latest_by_run(self) -> dict[int, tuple[Score, NDArray[np.float64] | None]]:
        """Return the latest judgement of each run, with the mAPs (R,) of its half-samples, for boards of many contests.

        The scores lack the AP by category. Their checks are the failed ones and IMAGES_SEEN; only IMAGES_SEEN has its
        figures.
        """
        told: dict[int, list[Check]] = {}
        for c in self._database.rows(_TOLD, IMAGES_SEEN):
            code = c["code"]
            figures = json.loads(c["figures"]) if code == IMAGES_SEEN else {}
            check = Check(code, bool(c["ok"]), c["severity"], c["sentence"], figures)
            of_score = told.setdefault(c["score"], [])
            of_score.append(check)

        found = {}
        for row in self._database.rows(_LATEST):
            figures = {name: row[name] for name in _FIGURES}
            checks = tuple(told.get(row["id"], ()))
            figures["rules"] = read_rules(figures["rules"])
            figures["others"] = _read(figures["others"])
            figures["energy_budget"] = _read(figures["energy_budget"])
            interval = None if row["level"] is None else _interval(row)
            maps = None if row["maps"] is None else np.frombuffer(row["maps"], "<f8")
            score = Score(**figures, ap={}, checks=checks, interval=interval)
            found[row["run"]] = (score, maps)
        return found

    def add_interval(
        self, score: Score, interval: ScoreInterval, maps: NDArray[np.float64]
    ) -> None:
        """Store the confidence intervals of a stored score, and the mAPs (R,) of the halves.

        The score need not be the run's latest: another process may have judged the run again meanwhile.
        """
        sql = "SELECT max(id) FROM scores WHERE run = ? AND judged_utc = ? AND energy_wh IS ?"
        with self._database.transaction() as connection:
            number = connection.execute(
                sql, (score.run, score.judged_utc, score.energy_wh)
            ).fetchone()[0]
            _insert_interval(connection, number, interval, maps)

    def half_maps(self, run: int) -> NDArray[np.float64] | None:
        """Return the mAPs (R,) of the half-samples behind the latest score's interval; None if none are stored.

        For an interval by BOOTSTRAP they are the mAPs of its resamples.
        """
        sql = "SELECT maps FROM intervals WHERE score = (SELECT max(id) FROM scores WHERE run = ?)"
        found = [
            row["maps"]
            for row in self._database.rows(sql, run)
            if row["maps"] is not None
        ]
        return np.frombuffer(found[0], "<f8") if found else None

    def judgement_mark(self) -> tuple[int, ...]:
        """Return a value that changes with every judgement, interval, review and decision of the jury."""
        return tuple(self._database.rows(_MARK)[0])


def _text(values: Mapping[str, Any] | None) -> str | None:
    return None if values is None else json.dumps(values)


def _read(text: str | None) -> dict[str, Any] | None:
    return None if text is None else dict(json.loads(text))


def _insert_interval(
    connection: sqlite3.Connection,
    score: int | None,
    interval: ScoreInterval,
    maps: NDArray[np.float64],
) -> None:
    values = vars(interval) | {"score": score, "maps": maps.astype("<f8").tobytes()}
    connection.execute(insert("intervals", "INSERT OR REPLACE"), values)


def _interval(row: sqlite3.Row) -> ScoreInterval:
    figures = {name: row[name] for name in _INTERVAL}
    return ScoreInterval(**figures | {"method": figures["method"] or BOOTSTRAP})
