"""Jobs with their leases, and the results of scoring.

A worker holds a job until its lease runs out. A request for work gets a waiting job, or a job whose lease has run out,
so no job waits for a worker that is gone.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from referee.errors import RefereeError
from referee.store.database import Database
from referee.store.model_records import Job, JobKind, JobState
from referee.store.schema import insert

MOST_FAILURES = 3
MOST_LOSSES = 10
"""Number of lost workers after which a job fails: one killed worker may not be the job's fault, ten in a row are."""
_OPEN = "state IN ('waiting', 'leased')"
_ADD = insert("jobs") + (
    " ON CONFLICT (name) DO UPDATE SET state = 'waiting', failures = 0, losses = 0, worker = NULL,"
    " lease_until_utc = NULL, renewals_left = NULL, ended_utc = NULL, failed_on = NULL"
    " WHERE state IN ('failed', 'cancelled')"
)
_NEXT = "SELECT name FROM jobs WHERE kind = :kind AND state = 'waiting'"
_NEXT += " AND name = coalesce(:name, name) ORDER BY created_utc, rowid LIMIT 1"
_HELD = "SELECT 1 FROM jobs WHERE worker = :worker AND state = 'leased' AND lease_until_utc > :now"
_LEASE = (
    "UPDATE jobs SET state = 'leased', worker = :worker, lease_until_utc = :until, renewals_left = NULL"  # noqa: S608 - constants
    " WHERE name = ("
    + _NEXT
    + ") AND NOT (:alone AND EXISTS ("
    + _HELD
    + ")) RETURNING *"
)
_EXPIRED = "SELECT name, worker FROM jobs WHERE kind = ? AND state = 'leased' AND lease_until_utc <= ?"
_RENEW = (
    "UPDATE jobs SET lease_until_utc = ?, renewals_left = renewals_left - 1"
    " WHERE name = ? AND worker = ? AND state = 'leased' AND coalesce(renewals_left, 1) > 0"
)
_LIMIT = "UPDATE jobs SET renewals_left = ? WHERE name = ? AND worker = ? AND state = 'leased'"
_GIVE_BACK = (
    "UPDATE jobs SET failures = failures + :failed, losses = losses + :lost, reason = :reason, lease_until_utc = NULL,"
    " failed_on = CASE WHEN :failed + :lost THEN json_insert(coalesce(failed_on, '[]'), '$[#]', worker)"
    " ELSE failed_on END,"
    " state = CASE WHEN failures + :failed >= :most_failures OR losses + :lost >= :most_losses"
    " THEN 'failed' ELSE 'waiting' END,"
    " ended_utc = CASE WHEN failures + :failed >= :most_failures OR losses + :lost >= :most_losses THEN :utc END"
    " WHERE name = :name AND worker = :worker AND state = 'leased'"
)
# For a model that no device could measure. It costs no attempt, because it is not the model's fault.
_SAY_WHY = (
    "INSERT OR IGNORE INTO measurements (submission, measured_utc, valid, sentence, figures, unstable)"
    " SELECT id, :utc, 0, reason, '{}', 1 FROM submissions JOIN jobs ON job = name"
    " WHERE name = :name AND kind = 'measuring' AND state = 'failed' AND withdrawn IS NULL"
)
_WAIT_AGAIN = (
    "UPDATE jobs SET state = 'waiting', failures = 0, losses = 0, worker = NULL, lease_until_utc = NULL,"
    " failed_on = NULL, ended_utc = NULL WHERE name = ? AND state = 'cancelled'"
)
_END = "UPDATE jobs SET state = ?, ended_utc = ?, lease_until_utc = NULL, reason = NULL WHERE name = ?"

_FORGET = "DELETE FROM jobs WHERE name = ? AND state = ?"


class JobTable:
    """The jobs, and the results of scoring."""

    def __init__(self, database: Database, older: JobTable | None = None) -> None:
        """Look up scoring results in `older`, if given, when this database lacks them."""
        self._database = database
        self._older = older

    def add(self, kind: JobKind, about: Mapping[str, str], now: datetime) -> None:
        """Add the jobs whose names are not stored yet; a failed or cancelled job waits again."""
        with self._database.transaction() as connection:
            insert_jobs(connection, kind, about, now)

    def lease(
        self,
        kind: JobKind,
        worker: str,
        now: datetime,
        lease_s: float,
        name: str | None = None,
        *,
        alone: bool = False,
    ) -> Job | None:
        """Lease the oldest waiting job of a kind, or the job `name`; return None if there is none.

        Jobs whose lease has run out are given back first. With `alone`, only a worker that holds no other lease gets a
        job.
        """
        until = (now + timedelta(seconds=lease_s)).isoformat()
        values: dict[str, object] = {
            "kind": kind.value,
            "worker": worker,
            "until": until,
            "name": name,
        }
        values |= {"alone": alone, "now": now.isoformat()}
        with self._database.transaction() as connection:
            _give_expired_back(connection, kind, now)
            rows = connection.execute(_LEASE, values).fetchall()
        return _job(rows[0]) if rows else None

    def give_expired_back(self, kind: JobKind, now: datetime) -> None:
        """Give back the jobs of a kind whose lease has run out, so that they wait again."""
        with self._database.transaction() as connection:
            _give_expired_back(connection, kind, now)

    def renew(
        self, names: Iterable[str], worker: str, now: datetime, lease_s: float
    ) -> frozenset[str]:
        """Renew the worker's leases of these jobs, and return the names of the renewed ones.

        A job that was cancelled, given back, or has no renewals left is not renewed. A lease that has run out can be
        renewed as long as no other worker has asked for the job.
        """
        until = (now + timedelta(seconds=lease_s)).isoformat()
        with self._database.transaction() as connection:
            held = [
                name
                for name in names
                if connection.execute(_RENEW, (until, name, worker)).rowcount
            ]
        return frozenset(held)

    def limit_renewals(self, name: str, worker: str, most: int | None) -> None:
        """Set how often `worker` may still renew its lease of a job; None sets no limit."""
        with self._database.transaction() as connection:
            connection.execute(_LIMIT, (most, name, worker))

    def give_back(
        self,
        name: str,
        worker: str,
        reason: str,
        now: datetime,
        *,
        failed: bool = False,
        lost: bool = False,
    ) -> Job:
        """Give a job back, so that it waits again, and return it; after too many failures or losses it fails instead.

        `failed`: the worker reported a failure. `lost`: the worker vanished. Nothing changes unless `worker` holds the
        job. Raises RefereeError `job-unknown`.
        """
        with self._database.transaction() as connection:
            why = {"reason": reason, "failed": failed, "lost": lost}
            give_back(connection, now, name=name, worker=worker, **why)
        return self.get(name)

    def get(self, name: str) -> Job:
        """Return one job. Raises RefereeError `job-unknown`."""
        rows = self._database.rows("SELECT * FROM jobs WHERE name = ?", name)
        if not rows:
            raise RefereeError(
                "job-unknown", f"There is no job {name}; see: referee jobs"
            )
        return _job(rows[0])

    def all(self, *states: JobState) -> list[Job]:
        """Return the jobs in these states, oldest first; without states, return all jobs."""
        marks = ", ".join("?" * len(states)) or "state"
        sql = f"SELECT * FROM jobs WHERE state IN ({marks}) ORDER BY created_utc, rowid"  # noqa: S608 - marks
        values = [state.value for state in states]
        return list(map(_job, self._database.rows(sql, *values)))

    def add_scoring(
        self, name: str, stem: str, figures: str, resampled: bytes | None, now: datetime
    ) -> None:
        """Store the result of a scoring job, and end the job, in one transaction. `figures` is JSON text."""
        utc = now.isoformat()
        values = {
            "name": name,
            "stem": stem,
            "utc": utc,
            "figures": figures,
            "resampled": resampled,
        }
        with self._database.transaction() as connection:
            connection.execute(insert("scorings", "INSERT OR IGNORE"), values)
            connection.execute(_END, (JobState.DONE.value, utc, name))

    def forget_scoring(self, name: str) -> None:
        """Remove the result of a scoring job and the job that is done, so that it is carried out again."""
        if self.scoring(name) is None:
            return
        with self._database.transaction() as connection:
            connection.execute("DELETE FROM scorings WHERE name = ?", (name,))
            connection.execute(_FORGET, (name, JobState.DONE.value))

    def scoring(self, name: str) -> tuple[str, bytes | None] | None:
        """Return the result of a scoring job: its figures as JSON text, and its AP by category and resample.

        None if unknown.
        """
        rows = self._database.rows(
            "SELECT figures, resampled FROM scorings WHERE name = ?", name
        )
        return tuple(rows[0]) if rows else None

    def scoring_of_stem(self, stem: str) -> tuple[str, bytes | None] | None:
        """Return the newest result for the same detections and settings with any ground truth, or None."""
        sql = "SELECT figures, resampled FROM scorings WHERE stem = ? ORDER BY rowid DESC LIMIT 1"
        rows = self._database.rows(sql, stem)
        if rows:
            return tuple(rows[0])
        return None if self._older is None else self._older.scoring_of_stem(stem)


def insert_jobs(
    connection: sqlite3.Connection,
    kind: JobKind,
    about: Mapping[str, str],
    now: datetime,
) -> None:
    """Add jobs as `JobTable.add` does, in the connection's transaction."""
    common: dict[str, object] = dict.fromkeys(
        ("worker", "lease_until_utc", "reason", "ended_utc")
    )
    common |= {
        "kind": kind.value,
        "state": JobState.WAITING.value,
        "created_utc": now.isoformat(),
    }
    common |= {"failures": 0, "losses": 0, "renewals_left": None, "failed_on": None}
    connection.executemany(
        _ADD, [common | {"name": name, "about": what} for name, what in about.items()]
    )


def end_job(
    connection: sqlite3.Connection, name: str, state: JobState, utc: str
) -> bool:
    """End a job in the connection's transaction.

    Returns False, and changes nothing, if the job has ended already.
    """
    return (
        connection.execute(f"{_END} AND {_OPEN}", (state.value, utc, name)).rowcount > 0
    )


def let_wait_again(connection: sqlite3.Connection, name: str) -> None:
    """Let a cancelled job wait again, in the connection's transaction."""
    connection.execute(_WAIT_AGAIN, (name,))


def give_back(connection: sqlite3.Connection, now: datetime, **values: object) -> None:
    """Give a job back as `JobTable.give_back` does, in the connection's transaction.

    `values` are the other arguments of that method.
    """
    limits = {"most_failures": MOST_FAILURES, "most_losses": MOST_LOSSES}
    values |= limits | {"utc": now.isoformat()}
    connection.execute(_GIVE_BACK, values)
    connection.execute(_SAY_WHY, values)


def _give_expired_back(
    connection: sqlite3.Connection, kind: JobKind, now: datetime
) -> None:
    for job, holder in connection.execute(
        _EXPIRED, (kind.value, now.isoformat())
    ).fetchall():
        why = {
            "reason": f"{holder} did not renew its lease in time, so the job is free again.",
            "failed": False,
            "lost": True,
        }
        give_back(connection, now, name=job, worker=holder, **why)


def _job(row: sqlite3.Row) -> Job:
    read = {"kind": JobKind(row["kind"]), "state": JobState(row["state"])}
    return Job(
        **(
            dict(row)
            | read
            | {"failed_on": tuple(json.loads(row["failed_on"] or "[]"))}
        )
    )
