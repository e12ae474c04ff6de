"""Judgements, and the figures of a run that is still open."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, astuple, fields

from power.energy import Check
from referee.store.database import Database
from referee.store.records import Provisional, Score, ScoreInterval


class ScoreTables(Database):
    """Scores are appended, the latest one of a run counts; provisional figures are replaced."""

    def add_score(self, score: Score) -> None:
        """Append a judgement with its checks; the latest one of a run counts."""
        with self._transaction() as connection:
            number = connection.execute(
                "INSERT INTO scores (run, judged_utc, map, energy_wh, score, mean_power_w, images, detections,"
                " ap, signature) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(
                        score.run,
                        score.judged_utc,
                        score.map,
                        score.energy_wh,
                        score.score,
                        score.mean_power_w,
                    ),
                    *(score.images, score.detections, json.dumps(score.ap), score.signature),
                ),
            ).lastrowid
            connection.executemany(
                "INSERT INTO checks (run, score, code, ok, severity, sentence, figures) VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (score.run, number, c.code, int(c.ok), c.severity, c.sentence, json.dumps(c.figures))
                    for c in score.checks
                ],
            )

    def latest_score(self, run: int) -> Score | None:
        """The judgement of a run that counts, or None before it is judged."""
        rows = self._rows("SELECT * FROM scores WHERE run = ? ORDER BY id DESC LIMIT 1", run)
        if not rows:
            return None
        checks = self._rows("SELECT * FROM checks WHERE score = ? ORDER BY rowid", rows[0]["id"])
        intervals = self._rows("SELECT * FROM intervals WHERE score = ?", rows[0]["id"])
        return _score(rows[0], checks, intervals)

    def add_interval(self, run: int, interval: ScoreInterval) -> None:
        """Say how sure the run's latest score is."""
        columns = [field.name for field in fields(ScoreInterval)]
        names, marks = ", ".join(columns), ", ".join("?" * len(columns))
        latest = "(SELECT max(id) FROM scores WHERE run = ?)"
        with self._transaction() as connection:
            connection.execute(
                f"INSERT INTO intervals (score, {names}) VALUES ({latest}, {marks})",  # noqa: S608 - constant names
                (run, *astuple(interval)),
            )

    def set_provisional(self, provisional: Provisional) -> None:
        """Replace what is known of a run that is not judged yet."""
        with self._transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO provisional (run, utc, map, energy_wh, score, detections)"
                " VALUES (:run, :utc, :map, :energy_wh, :score, :detections)",
                asdict(provisional),
            )

    def provisional(self, run: int) -> Provisional | None:
        """Where a run stood when it was last looked at, or None before that."""
        rows = self._rows("SELECT * FROM provisional WHERE run = ?", run)
        return Provisional(**rows[0]) if rows else None


def _score(row: sqlite3.Row, checks: Sequence[sqlite3.Row], intervals: Sequence[sqlite3.Row]) -> Score:
    figures = dict(row) | {
        "ap": {int(category): ap for category, ap in json.loads(row["ap"]).items()},
        "checks": tuple(
            Check(c["code"], bool(c["ok"]), c["severity"], c["sentence"], json.loads(c["figures"]))
            for c in checks
        ),
        "interval": next(map(_interval, intervals), None),
    }
    del figures["id"]
    return Score(**figures)


def _interval(row: sqlite3.Row) -> ScoreInterval:
    return ScoreInterval(**{field.name: row[field.name] for field in fields(ScoreInterval)})
