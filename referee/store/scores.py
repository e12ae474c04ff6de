"""Judgements, and the figures of a run that is still open."""

from __future__ import annotations

import json
from dataclasses import asdict

from power.energy import Check
from referee.store.database import Database
from referee.store.records import Provisional, Score, ScoreInterval

_INSERT_SCORE = (
    "INSERT INTO scores"
    " (run, judged_utc, map, energy_wh, score, mean_power_w, images, detections, ap, signature) VALUES"
    " (:run, :judged_utc, :map, :energy_wh, :score, :mean_power_w, :images, :detections, :ap, :signature)"
)
_INSERT_CHECK = (
    "INSERT INTO checks (run, score, code, ok, severity, sentence, figures) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_INSERT_INTERVAL = (
    "INSERT INTO intervals"
    " (score, level, resamples, seed, map_low, map_high, score_low, score_high, energy_uncertainty) VALUES"
    " ((SELECT max(id) FROM scores WHERE run = :run), :level, :resamples, :seed, :map_low, :map_high,"
    " :score_low, :score_high, :energy_uncertainty)"
)
_REPLACE_PROVISIONAL = (
    "INSERT OR REPLACE INTO provisional (run, utc, map, energy_wh, score, detections)"
    " VALUES (:run, :utc, :map, :energy_wh, :score, :detections)"
)


class ScoreTables(Database):
    """Scores are appended, the latest one of a run counts; provisional figures are replaced."""

    def add_score(self, score: Score) -> None:
        """Append a judgement with its checks; the latest one of a run counts."""
        with self._transaction() as connection:
            values = vars(score) | {"ap": json.dumps(score.ap)}
            number = connection.execute(_INSERT_SCORE, values).lastrowid
            checks = [
                (score.run, number, c.code, int(c.ok), c.severity, c.sentence, json.dumps(c.figures))
                for c in score.checks
            ]
            connection.executemany(_INSERT_CHECK, checks)

    def latest_score(self, run: int) -> Score | None:
        """The judgement of a run that counts, or None before it is judged."""
        rows = self._rows("SELECT * FROM scores WHERE run = ? ORDER BY id DESC LIMIT 1", run)
        if not rows:
            return None
        figures = dict(rows[0])
        number = figures.pop("id")
        figures["ap"] = {int(category): ap for category, ap in json.loads(figures["ap"]).items()}
        checks = tuple(
            Check(c["code"], bool(c["ok"]), c["severity"], c["sentence"], json.loads(c["figures"]))
            for c in self._rows("SELECT * FROM checks WHERE score = ? ORDER BY rowid", number)
        )
        return Score(**figures, checks=checks, interval=self._interval(number))

    def _interval(self, score: int) -> ScoreInterval | None:
        for row in self._rows("SELECT * FROM intervals WHERE score = ?", score):
            figures = dict(row)
            del figures["score"]
            return ScoreInterval(**figures)
        return None

    def add_interval(self, run: int, interval: ScoreInterval) -> None:
        """Add the confidence intervals of the run's latest score."""
        with self._transaction() as connection:
            connection.execute(_INSERT_INTERVAL, asdict(interval) | {"run": run})

    def set_provisional(self, provisional: Provisional) -> None:
        """Replace the provisional figures of a run that is not judged yet."""
        with self._transaction() as connection:
            connection.execute(_REPLACE_PROVISIONAL, asdict(provisional))

    def provisional(self, run: int) -> Provisional | None:
        """The provisional figures of a run, or None if there are none yet."""
        rows = self._rows("SELECT * FROM provisional WHERE run = ?", run)
        return Provisional(**rows[0]) if rows else None
