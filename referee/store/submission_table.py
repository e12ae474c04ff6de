"""Submissions to the model tracks and their measurements.

The table is append-only, except that `referee.store.entry_withdrawal` withdraws and restores submissions, and stops
counting them towards the day's limit.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zlib
from dataclasses import asdict, fields, replace
from datetime import datetime

from referee.errors import RefereeError
from referee.store.acts import Act, put_on_record
from referee.store.database import Database
from referee.store.entry_withdrawal import require_not_withdrawn
from referee.store.job_table import end_job, insert_jobs
from referee.store.model_records import JobKind, JobState, ModelMeasurement, Submission
from referee.store.schema import insert

_COLUMNS = tuple(
    one.name
    for one in fields(Submission)
    if one.name not in ("id", "withdrawn", "measurement")
)
_MEASURED = tuple(one.name for one in fields(ModelMeasurement))
_INSERT = insert("submissions")
_INSERT_MEASUREMENT = insert("measurements")
FREE_REPETITIONS = 3
"""Number of repeated measurements of unstable models that do not count for a team, by day and track.

Without this limit, a team whose model makes its own latency unstable could have it measured any number of times, while
other teams wait.
"""
_COUNT = (
    "SELECT count(*) - sum(is_unstable) AS settled, sum(is_unstable) AS unstable FROM"
    " (SELECT EXISTS (SELECT 1 FROM measurements WHERE submission = submissions.id AND unstable) AS is_unstable"
    " FROM submissions WHERE track = ? AND team = ? AND counts"
    " AND coalesce(limit_day, substr(accepted_utc, 1, 10)) = ?)"
)
_REPEATED = (
    "SELECT id FROM submissions LEFT JOIN measurements ON submission = id WHERE track = ? AND team = ?"
    " AND model_sha256 = ? AND split = 'public' AND withdrawn IS NULL AND coalesce(valid, 1) ORDER BY id"
)
_OF_DEVICE = "SELECT name FROM jobs JOIN submissions ON job = name WHERE id = ? AND kind = 'measuring'"
_FIND = (
    f"SELECT submissions.*, {', '.join(_MEASURED)}"  # noqa: S608 - names of columns
    " FROM submissions LEFT JOIN measurements ON submission = submissions.id WHERE {} ORDER BY submissions.id"
)


class SubmissionTable:
    """Submissions to the model tracks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def accept(
        self,
        submission: Submission,
        now: datetime,
        limit: int,
        kind: JobKind | None = None,
        act: Act | None = None,
    ) -> Submission:
        """Store a submission and its job of `kind`, if any, and return it with its new `id` and `accepted_utc`.

        Raises RefereeError `submission-limit` if the team has used up the `limit` of this track and UTC day, also if
        two processes submit the last one at once. Raises EntryWithdrawn for a further part of a withdrawn entry;
        such a part does not use up the limit.
        """
        with self._database.transaction() as connection:
            if not submission.counts:
                require_not_withdrawn(
                    connection,
                    submission.track,
                    submission.team,
                    submission.model_sha256,
                )
            made = accepted_part(connection, submission, now, limit, kind)
            put_on_record(connection, act, submission=made.id)
        return made

    def require_below_limit(
        self, track: str, team: str, limit: int, now: datetime
    ) -> None:
        """Raise RefereeError `submission-limit` if a team has used up its submissions of the UTC day of `now`."""
        day = now.date().isoformat()
        _require_below(
            self._database.rows(_COUNT, track, team, day)[0], track, team, limit, day
        )

    def used(self, track: str, team: str, now: datetime) -> int:
        """Return the number of a team's submissions that count towards the limit of the UTC day of `now`."""
        return _used(
            self._database.rows(_COUNT, track, team, now.date().isoformat())[0]
        )

    def add_measurement(
        self,
        submission: int,
        measurement: ModelMeasurement,
        result: bytes | None = None,
    ) -> None:
        """Store the measurement of a submission, with the result document as received, and end the device's job.

        Raises RefereeError `lease-lost`, and stores nothing, if the job has ended already.
        """
        measured = (
            None if measurement.measured is None else json.dumps(measurement.measured)
        )
        values = asdict(measurement) | {
            "measured": measured,
            "figures": json.dumps(measurement.figures),
        }
        values |= {
            "submission": submission,
            "result": None if result is None else zlib.compress(result),
        }
        with self._database.transaction() as connection:
            for (job,) in connection.execute(_OF_DEVICE, (submission,)).fetchall():
                if not end_job(
                    connection, job, JobState.DONE, measurement.measured_utc
                ):
                    raise lease_lost(f"submission {submission}")
            connection.execute(_INSERT_MEASUREMENT, values)

    def get(self, number: int) -> Submission:
        """Return one submission. Raises RefereeError `submission-unknown`."""
        rows = self._database.rows(_FIND.format("submissions.id = ?"), number)
        if not rows:
            sentence = f"There is no submission {number}; see: referee model list"
            raise RefereeError("submission-unknown", sentence)
        return _submission(rows[0])

    def all(self, track: str | None = None) -> list[Submission]:
        """Return the submissions to `track`, or to all tracks if it is None, oldest first."""
        rows = self._database.rows(_FIND.format("? IS NULL OR track = ?"), track, track)
        return [_submission(row) for row in rows]

    def queued(self, kind: JobKind) -> list[Submission]:
        """Return the submissions whose job of this kind waits or is leased, oldest first."""
        jobs = "SELECT name FROM jobs WHERE kind = ? AND state IN ('waiting', 'leased')"
        return [
            _submission(row)
            for row in self._database.rows(_FIND.format(f"job IN ({jobs})"), kind.value)
        ]

    def unchecked(self) -> list[Submission]:
        """Return the uploads whose check has not ended, oldest first.

        This includes uploads whose check was interrupted by a crash of the server.
        """
        jobs = "SELECT name FROM jobs WHERE kind = ? AND state IN ('waiting', 'leased', 'failed')"
        rows = self._database.rows(
            _FIND.format(f"job IN ({jobs}) AND withdrawn IS NULL"),
            JobKind.CHECKING.value,
        )
        return [_submission(row) for row in rows]

    def result(self, number: int) -> bytes | None:
        """Return the result document of a submission as received, or None if it has none."""
        rows = self._database.rows(
            "SELECT result FROM measurements WHERE submission = ?", number
        )
        return (
            zlib.decompress(rows[0]["result"])
            if rows and rows[0]["result"] is not None
            else None
        )


def require_new_file(connection: sqlite3.Connection, one: Submission) -> None:
    """Raise an error if the team submitted this file before; called in a transaction.

    The error is RefereeError `entry-repeated`, or EntryWithdrawn if the earlier entry is withdrawn.
    """
    require_not_withdrawn(connection, one.track, one.team, one.model_sha256)
    same = connection.execute(
        _REPEATED, (one.track, one.team, one.model_sha256)
    ).fetchone()
    if same is not None:
        sentence = (
            f"The team's entry {same['id']} to the track {one.track} is the same file."
        )
        raise RefereeError("entry-repeated", sentence, entry=same["id"])


def accepted_part(
    connection: sqlite3.Connection,
    given: Submission,
    now: datetime,
    limit: int,
    kind: JobKind | None,
) -> Submission:
    """Store a submission as `SubmissionTable.accept` does, in the connection's transaction.

    `limit` is for the submission's `limit_day`, by default the day of `now`.
    """
    day = given.limit_day or now.date().isoformat()
    accepted_utc = now.isoformat()
    made = replace(given, accepted_utc=accepted_utc, measurement=None)
    made = replace(made, withdrawn=None, withdrawn_utc=None, withdrawn_by=None)
    if made.counts:
        counted = connection.execute(_COUNT, (made.track, made.team, day)).fetchone()
        _require_below(counted, made.track, made.team, limit, day)
    values = asdict(made) | {"id": None}
    number = int(connection.execute(_INSERT, values).lastrowid or 0)
    made = replace(made, id=number)
    if kind is not None:
        job = made.job or job_name(made)
        made = replace(made, job=job)
        connection.execute("UPDATE submissions SET job = ? WHERE id = ?", (job, number))
        insert_jobs(connection, kind, {job: f"submission {number}"}, now)
    return made


def job_name(made: Submission, *of: str) -> str:
    """Return the name of a submission's job.

    It includes a mark (`of`) that distinguishes several jobs of one submission.
    """
    text = "\n".join([*of, made.track, made.split, str(made.id), made.model_sha256])
    return hashlib.sha256(text.encode()).hexdigest()


def lease_lost(what: str) -> RefereeError:
    """Return the error for a device that reports on a job that it does not hold, or holds no longer."""
    return RefereeError(
        "lease-lost",
        f"The lease of {what} is lost: it was not renewed in time, or another device holds it now.",
    )


def _beyond_free(counted: sqlite3.Row) -> int:
    return max(0, (counted["unstable"] or 0) - FREE_REPETITIONS)


def _used(counted: sqlite3.Row) -> int:
    return int(counted["settled"] or 0) + _beyond_free(counted)


def _require_below(
    counted: sqlite3.Row, track: str, team: str, limit: int, day: str
) -> None:
    used = _used(counted)
    beyond = _beyond_free(counted)
    if used < limit:
        return
    which = f"{used} of its {limit} submissions to the track {track} on {day}"
    if beyond:
        which += f", {beyond} of them for repeated measurements beyond the {FREE_REPETITIONS} free ones"
    sentence = (
        f"Team {team} has used up {which}; hand in the next one after midnight UTC."
    )
    raise RefereeError("submission-limit", sentence, used=used, limit=limit)


def _submission(row: sqlite3.Row) -> Submission:
    return Submission(
        **{name: row[name] for name in _COLUMNS if name != "counts"},
        id=row["id"],
        counts=bool(row["counts"]) and not row["unstable"],
        withdrawn=row["withdrawn"],
        measurement=None if row["measured_utc"] is None else _measurement(row),
    )


def _measurement(row: sqlite3.Row) -> ModelMeasurement:
    values = {name: row[name] for name in _MEASURED}
    for name in ("measured", "figures"):
        if row[name] is not None:
            values[name] = json.loads(row[name])
    for name in ("meter_official", "confined"):
        if row[name] is not None:
            values[name] = bool(row[name])
    for name in ("valid", "unstable"):
        values[name] = bool(row[name])
    return ModelMeasurement(**values)
