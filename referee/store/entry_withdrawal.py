"""Withdrawal and restoration of entries, always as a whole.

An entry is every submission of one team's file to one track: on both test sets and in every build, with measurements
and jobs. A submission without a file is an entry of its own.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from datetime import datetime

from referee.errors import EntryWithdrawn, RefereeError
from referee.store.acts import Act, put_on_record
from referee.store.database import Database
from referee.store.job_table import end_job, let_wait_again
from referee.store.model_records import JobState
from referee.store.publication_table import take_back_publication

_PARTS = (
    "SELECT part.* FROM submissions AS part JOIN submissions AS one ON part.track = one.track"
    " AND part.team = one.team AND part.model_sha256 = one.model_sha256"
    " AND (one.model_sha256 <> '' OR part.id = one.id) WHERE one.id = ? ORDER BY part.id"
)
_WITHDRAW = "UPDATE submissions SET withdrawn = ?, withdrawn_utc = ?, withdrawn_by = ? WHERE id = ?"
_JOB_IS_NEEDED = "SELECT 1 FROM submissions WHERE job = ? AND withdrawn IS NULL"
_WITH_JOB = "SELECT id FROM submissions WHERE job = ? AND withdrawn IS NULL"
_GIVE_UP = "UPDATE submissions SET withdrawn = ?, counts = 0 WHERE id = ? AND withdrawn IS NULL"
_DOUBT = "SELECT doubt FROM measurements WHERE submission = ?"
_END_REVIEW = "UPDATE measurements SET doubt = NULL WHERE submission = ?"
_NEWEST_OF_FILE = (
    "SELECT id FROM submissions WHERE track = ? AND team = ? AND model_sha256 = ? AND model_sha256 <> ''"
    " ORDER BY id DESC LIMIT 1"
)


class EntryWithdrawals:
    """Withdraws entries from the boards, and restores them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def withdraw(
        self, number: int, reason: str, by: str, now: datetime, act: Act | None = None
    ) -> list[int]:
        """Withdraw the entry of a submission, and return the submissions of the entry that counted until now.

        The entry still counts towards its day's limit. Its waiting jobs are cancelled, the result of a running job will
        not be shown, and the final board of its track, if any, is no longer shown. Raises RefereeError
        `submission-unknown`, `already-withdrawn`.
        """
        with self._database.transaction() as connection:
            parts = _parts(connection, number)
            standing = [part for part in parts if part["withdrawn"] is None]
            if not standing:
                sentence = (
                    f"Submission {number} is withdrawn already{_when(parts)}; the reason: "
                    f"{parts[-1]['withdrawn']}"
                )
                raise RefereeError("already-withdrawn", sentence)
            _withdraw(connection, standing, reason, by, now)
            taken = [int(part["id"]) for part in standing]
            put_on_record(connection, act, parts=taken)
        return taken

    def restore(self, number: int, now: datetime, act: Act | None = None) -> list[int]:
        """Undo the newest withdrawal of a submission's entry, and return the submissions that count again.

        Jobs that the withdrawal cancelled are queued again, and the final board of its track, if any, is no longer
        shown. Raises RefereeError `submission-unknown`, `not-withdrawn`.
        """
        with self._database.transaction() as connection:
            parts = _parts(connection, number)
            if not is_withdrawn(parts):
                raise RefereeError("not-withdrawn", _why_not_withdrawn(number, parts))
            newest = max(part["withdrawn_utc"] or "" for part in parts)
            chosen = [part for part in parts if part["withdrawn_utc"] == newest]
            for part in chosen:
                connection.execute(_WITHDRAW, (None, None, None, part["id"]))
                if part["job"]:
                    let_wait_again(connection, part["job"])
            take_back_publication(
                connection, parts[0]["track"], f"entry {number} was restored", now
            )
            restored = [int(part["id"]) for part in chosen]
            put_on_record(connection, act, parts=restored)
        return restored

    def cancel_jobs(
        self, names: Iterable[str], by: str, now: datetime, act: Act | None = None
    ) -> int:
        """Cancel those jobs that have not ended, and return how many.

        Their workers learn this when they next renew their leases. Entries whose result depended on a cancelled job are
        withdrawn.
        """
        with self._database.transaction() as connection:
            over = [
                name
                for name in names
                if end_job(connection, name, JobState.CANCELLED, now.isoformat())
            ]
            for name in over:
                for (number,) in connection.execute(_WITH_JOB, (name,)).fetchall():
                    parts = _parts(connection, number)
                    standing = [part for part in parts if part["withdrawn"] is None]
                    _withdraw(connection, standing, "its job was cancelled", by, now)
            put_on_record(connection, act)
        return len(over)

    def give_up(self, number: int, reason: str) -> None:
        """Store the reason why a submission could not be measured, if the model is not at fault.

        The submission then does not count towards the team's limit.
        """
        with self._database.transaction() as connection:
            connection.execute(_GIVE_UP, (reason, number))

    def uncount(self, number: int, act: Act | None = None) -> None:
        """Stop counting a submission towards its day's limit.

        Raises RefereeError `submission-unknown`, `not-counted`.
        """
        with self._database.transaction() as connection:
            _parts(connection, number)
            sql = "UPDATE submissions SET counts = 0 WHERE id = ? AND counts"
            if not connection.execute(sql, (number,)).rowcount:
                sentence = (
                    f"Submission {number} has not used up a submission of its day, so there is nothing to give "
                    "back."
                )
                raise RefereeError("not-counted", sentence)
            put_on_record(connection, act)

    def end_review(self, number: int, now: datetime, act: Act | None = None) -> str:
        """End the review of a submission's measurement, so that it is ranked; return the reason of the review.

        The final board of its track, if any, is no longer shown. Raises RefereeError `submission-unknown`,
        `not-in-review`.
        """
        with self._database.transaction() as connection:
            track = _parts(connection, number)[0]["track"]
            found = connection.execute(_DOUBT, (number,)).fetchone()
            if found is None or found["doubt"] is None:
                raise RefereeError(
                    "not-in-review", f"Submission {number} is not in review."
                )
            connection.execute(_END_REVIEW, (number,))
            take_back_publication(
                connection, track, f"the review of submission {number} ended", now
            )
            put_on_record(connection, act, doubt=found["doubt"])
            return str(found["doubt"])


def is_withdrawn(parts: Sequence[sqlite3.Row]) -> bool:
    """Return True if someone withdrew the entry with these submissions and none of them counts."""
    stands = any(part["withdrawn"] is None for part in parts)
    return not stands and any(part["withdrawn_utc"] is not None for part in parts)


def require_not_withdrawn(
    connection: sqlite3.Connection, track: str, team: str, sha256: str
) -> None:
    """Raise EntryWithdrawn if the team's entry with that file is withdrawn."""
    found = connection.execute(_NEWEST_OF_FILE, (track, team, sha256)).fetchone()
    if found is None:
        return
    number = int(found["id"])
    parts = _parts(connection, number)
    if is_withdrawn(parts):
        newest = max(parts, key=lambda part: part["withdrawn_utc"] or "")
        reason = newest["withdrawn"]
        entry = int(parts[0]["id"])
        sentence = f"This file is the team's entry {entry} to the track {track}, which is withdrawn: {reason}"
        raise EntryWithdrawn("entry-withdrawn", sentence, entry=entry)


def _parts(connection: sqlite3.Connection, number: int) -> list[sqlite3.Row]:
    parts = connection.execute(_PARTS, (number,)).fetchall()
    if not parts:
        raise RefereeError(
            "submission-unknown",
            f"There is no submission {number}; see: referee model list",
        )
    return parts


def _withdraw(
    connection: sqlite3.Connection,
    parts: Sequence[sqlite3.Row],
    reason: str,
    by: str,
    now: datetime,
) -> None:
    utc = now.isoformat()
    for part in parts:
        connection.execute(_WITHDRAW, (reason, utc, by, part["id"]))
    for job in {part["job"] for part in parts if part["job"]}:
        # Two teams with identical results files share one job.
        if connection.execute(_JOB_IS_NEEDED, (job,)).fetchone() is None:
            end_job(connection, job, JobState.CANCELLED, utc)
    first = parts[0]
    take_back_publication(
        connection, first["track"], f"entry {first['id']} was withdrawn: {reason}", now
    )


def _when(parts: Sequence[sqlite3.Row]) -> str:
    newest = max(parts, key=lambda part: part["withdrawn_utc"] or "")
    if newest["withdrawn_utc"] is None:
        return ""
    return f", since {newest['withdrawn_utc'][:19]} by {newest['withdrawn_by']}"


def _why_not_withdrawn(number: int, parts: Sequence[sqlite3.Row]) -> str:
    standing = [str(part["id"]) for part in parts if part["withdrawn"] is None]
    if standing:
        return (
            f"The entry of submission {number} is not withdrawn: its submissions {', '.join(standing)} are "
            "still on the boards."
        )
    reason = parts[-1]["withdrawn"]
    return f"Submission {number} was not withdrawn by an operator, so there is nothing to restore: {reason}."
