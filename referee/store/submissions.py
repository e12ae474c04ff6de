"""Models that were handed in to a track, and what came of them. Append-only, but for `withdrawn`."""

from __future__ import annotations

import json
import sqlite3
import zlib
from dataclasses import asdict, replace
from datetime import date, datetime

from referee.errors import RefereeError
from referee.store.database import Database
from referee.store.records import ModelMeasurement, Submission

_COLUMNS = (
    *(
        "accepted_utc",
        "track",
        "team",
        "split",
        "build",
        "model_file",
        "model_sha256",
        "testset_digest",
        "counts",
    ),
)
_INSERT = f"INSERT INTO submissions ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608
_COUNT = (
    "SELECT count(*) AS n FROM submissions WHERE track = ? AND team = ? AND counts AND withdrawn IS NULL"
    " AND substr(accepted_utc, 1, 10) = ?"
)
_FIND = (
    "SELECT submissions.*, measured_utc, valid, sentence, device, meter, metric, measured, figures"
    " FROM submissions LEFT JOIN measurements ON submission = submissions.id WHERE {} ORDER BY submissions.id"
)
_INSERT_MEASUREMENT = (
    "INSERT INTO measurements"
    " (submission, measured_utc, valid, sentence, device, meter, metric, measured, figures, result)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class SubmissionTables(Database):
    """Submissions to the model tracks."""

    def accept_submission(self, submission: Submission, now: datetime, limit: int) -> Submission:
        """Store a submission under a new number (`id` and `accepted_utc` are ignored) and return it with both.

        Raises RefereeError `submission-limit` when the team has used up the `limit` of this track and UTC day. Of two
        processes that hand in the last one at the same time, one is told so.
        """
        made = replace(submission, accepted_utc=now.isoformat(), withdrawn=None, measurement=None)
        values = asdict(made)
        with self._transaction() as connection:
            used = connection.execute(_COUNT, (made.track, made.team, now.date().isoformat())).fetchone()["n"]
            if made.counts and used >= limit:
                raise submission_limit(made.track, made.team, used, limit, now.date())
            number = connection.execute(_INSERT, tuple(values[name] for name in _COLUMNS)).lastrowid
        return replace(made, id=int(number or 0))

    def submissions_used(self, track: str, team: str, now: datetime) -> int:
        """How many submissions of a team count on the UTC day of `now`."""
        return int(self._rows(_COUNT, track, team, now.date().isoformat())[0]["n"])

    def add_measurement(
        self, submission: int, measurement: ModelMeasurement, result: bytes | None = None
    ) -> None:
        """Store what came of a submission, and the result document as received, if there is one."""
        measured = None if measurement.measured is None else json.dumps(measurement.measured)
        values = (
            *(
                submission,
                measurement.measured_utc,
                measurement.valid,
                measurement.sentence,
                measurement.device,
            ),
            *(measurement.meter, measurement.metric, measured, json.dumps(measurement.figures)),
            None if result is None else zlib.compress(result),
        )
        with self._transaction() as connection:
            connection.execute(_INSERT_MEASUREMENT, values)

    def withdraw_submission(self, number: int, reason: str) -> Submission:
        """Say why a submission is worth nothing; it counts no more. Raises RefereeError `submission-unknown`."""
        with self._transaction() as connection:
            connection.execute("UPDATE submissions SET withdrawn = ? WHERE id = ?", (reason, number))
        return self.submission(number)

    def submission(self, number: int) -> Submission:
        """One submission. Raises RefereeError `submission-unknown`."""
        rows = self._rows(_FIND.format("submissions.id = ?"), number)
        if not rows:
            raise RefereeError(
                "submission-unknown", f"There is no submission {number}; see: referee model list"
            )
        return _submission(rows[0])

    def submissions(self, track: str | None = None) -> list[Submission]:
        """The submissions, oldest first, all or those of a track."""
        rows = (
            self._rows(_FIND.format("1")) if track is None else self._rows(_FIND.format("track = ?"), track)
        )
        return [_submission(row) for row in rows]

    def submission_result(self, number: int) -> bytes | None:
        """The result document of a submission as received; None where it has none."""
        rows = self._rows("SELECT result FROM measurements WHERE submission = ?", number)
        return zlib.decompress(rows[0]["result"]) if rows and rows[0]["result"] is not None else None


def submission_limit(track: str, team: str, used: int, limit: int, day: date) -> RefereeError:
    """The error of a team that has used up its submissions of a UTC day."""
    return RefereeError(
        "submission-limit",
        f"Team {team} has used up {used} of its {limit} submissions to the track {track} on {day}; hand in the next "
        "one after midnight UTC.",
        used=used,
        limit=limit,
    )


def _submission(row: sqlite3.Row) -> Submission:
    return Submission(
        **{name: row[name] for name in _COLUMNS if name != "counts"},
        id=row["id"],
        counts=bool(row["counts"]),
        withdrawn=row["withdrawn"],
        measurement=None if row["measured_utc"] is None else _measurement(row),
    )


def _measurement(row: sqlite3.Row) -> ModelMeasurement:
    return ModelMeasurement(
        measured_utc=row["measured_utc"],
        valid=bool(row["valid"]),
        sentence=row["sentence"],
        device=row["device"],
        meter=row["meter"],
        metric=row["metric"],
        measured=None if row["measured"] is None else json.loads(row["measured"]),
        figures=json.loads(row["figures"]),
    )
