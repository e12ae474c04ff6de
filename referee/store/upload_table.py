"""Uploads: each file is stored and dated when received, and checked later.

If the check refuses a file, its submission is given up and does not count towards the limit.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime

from referee.errors import RefereeError
from referee.store.database import Database
from referee.store.job_table import end_job, insert_jobs
from referee.store.model_records import JobKind, JobState, Submission, Upload
from referee.store.schema import insert
from referee.store.submission_table import accepted_part, job_name, require_new_file

_FIND = "SELECT * FROM uploads WHERE submission = ?"
_JOB_OF = "SELECT job FROM submissions WHERE id = ? AND withdrawn IS NULL"
_ADMIT = "UPDATE submissions SET testset_digest = ?, job = ? WHERE id = ?"
_GIVE_UP = "UPDATE submissions SET withdrawn = ?, counts = 0 WHERE id = ?"
_CHECKED = "UPDATE uploads SET checked_utc = ?, problem = ? WHERE submission = ?"
_REPLACED = "SELECT submission FROM uploads WHERE replaces = ?"
_LATE = (
    "SELECT submission FROM uploads JOIN submissions ON submission = id"
    " WHERE track = ? AND team = ? AND replaces IS NOT NULL AND received_utc >= ?"
)
_REFUSED = (
    "SELECT uploads.* FROM uploads JOIN submissions ON submission = id WHERE track = ? AND checked_utc > ?"
    " AND problem IS NOT NULL AND replaces IS NULL AND withdrawn_utc IS NULL"
    " AND submission NOT IN (SELECT replaces FROM uploads WHERE replaces IS NOT NULL)"
)
_NEEDED = "SELECT 1 FROM submissions WHERE model_sha256 = ? AND (withdrawn IS NULL OR withdrawn_utc IS NOT NULL)"


class UploadTable:
    """Files that teams upload."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def receive(
        self,
        given: Submission,
        upload: Upload,
        limit: int,
        closed: datetime | None = None,
    ) -> Submission:
        """Store a received file with the time in `upload` and the job that checks it, and return its submission.

        After the track closed at `closed`, a team may replace one file only; otherwise broken files would buy attempts
        after the deadline. Raises RefereeError `submission-limit`, `entry-repeated`, `not-replaceable`, EntryWithdrawn.
        """
        now = datetime.fromisoformat(upload.received_utc)
        with self._database.transaction() as connection:
            require_new_file(connection, given)
            if upload.replaces is not None:
                _require_unreplaced(connection, upload.replaces)
                if closed is not None and now >= closed:
                    _require_first_late(connection, given, closed)
            made = accepted_part(connection, given, now, limit, None)
            made = replace(made, job=job_name(made, "check", made.accepted_utc))
            connection.execute(_ADMIT, ("", made.job, made.id))
            insert_jobs(
                connection,
                JobKind.CHECKING,
                {str(made.job): f"submission {made.id}"},
                now,
            )
            connection.execute(
                insert("uploads"), asdict(upload) | {"submission": made.id}
            )
        return made

    def admit(
        self,
        made: Submission,
        parts: Sequence[Submission],
        kind: JobKind,
        now: datetime,
    ) -> bool:
        """Store that a check found no problem, with the submissions to each split and the jobs for their results.

        The first of `parts` is `made` itself. Returns False, and stores nothing, if the check has ended already.
        """
        first, *others = parts
        with self._database.transaction() as connection:
            if not _end_check(connection, made, now):
                return False
            job = first.job or job_name(made)
            accepted = datetime.fromisoformat(made.accepted_utc)
            connection.execute(_ADMIT, (first.testset_digest, job, made.id))
            jobs = {job: f"submission {made.id}"}
            insert_jobs(connection, kind, jobs, accepted)
            for part in others:
                accepted_part(connection, part, accepted, 0, kind)
            connection.execute(_CHECKED, (now.isoformat(), None, made.id))
        return True

    def refuse(
        self, made: Submission, problem: dict[str, object], now: datetime
    ) -> bool:
        """Store why a check refused an upload; its submission then does not count at all.

        `problem` has its sentence as `detail`. Returns False, and stores nothing, if the check has ended already.
        """
        with self._database.transaction() as connection:
            if not _end_check(connection, made, now):
                return False
            connection.execute(_GIVE_UP, (problem["detail"], made.id))
            connection.execute(
                _CHECKED, (now.isoformat(), json.dumps(problem), made.id)
            )
        return True

    def of_submission(self, submission: int) -> Upload | None:
        """Return the upload of a submission.

        Returns None if the submission was not uploaded, or an earlier version of the program received it.
        """
        rows = self._database.rows(_FIND, submission)
        return _upload(rows[0]) if rows else None

    def refused(self, track: str, since: datetime) -> list[Upload]:
        """Return the uploads of a track refused since `since` that neither replace another upload nor were replaced."""
        return [
            _upload(row)
            for row in self._database.rows(_REFUSED, track, since.isoformat())
        ]

    def is_file_needed(self, sha256: str) -> bool:
        """Return True if the file with this SHA-256 belongs to an entry that is valid or can be restored."""
        return bool(self._database.rows(_NEEDED, sha256))


def _end_check(connection: sqlite3.Connection, made: Submission, now: datetime) -> bool:
    """End the job of a check, even a failed job.

    Returns False if the submission was withdrawn or has another job by now.
    """
    row = connection.execute(_JOB_OF, (made.id,)).fetchone()
    if row is None:
        return False
    job = row["job"]
    if job != made.job:
        return False
    utc = now.isoformat()
    end_job(connection, job, JobState.DONE, utc)
    return True


def _require_unreplaced(connection: sqlite3.Connection, number: int) -> None:
    if (found := connection.execute(_REPLACED, (number,)).fetchone()) is not None:
        sentence = f"The entry {number} has already been replaced by the entry {found['submission']}."
        raise RefereeError("not-replaceable", sentence)


def _require_first_late(
    connection: sqlite3.Connection, given: Submission, closed: datetime
) -> None:
    about = given.track, given.team, closed.astimezone(UTC).isoformat()
    if (found := connection.execute(_LATE, about).fetchone()) is not None:
        sentence = f"Since the track was closed, team {given.team} has already replaced a file, by the entry"
        raise RefereeError(
            "not-replaceable",
            f"{sentence} {found['submission']}; a file may replace only one entry.",
        )


def _upload(row: sqlite3.Row) -> Upload:
    problem = None if row["problem"] is None else json.loads(row["problem"])
    return Upload(**(dict(row) | {"problem": problem}))
