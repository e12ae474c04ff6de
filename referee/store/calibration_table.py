"""Measurements of calibration models, by which devices are compared."""

from __future__ import annotations

import zlib
from dataclasses import fields
from datetime import datetime

from referee.store.database import Database
from referee.store.job_table import end_job, insert_jobs
from referee.store.model_records import Calibration, JobKind, JobState
from referee.store.schema import insert
from referee.store.submission_table import lease_lost

_CALIBRATION = ", ".join(one.name for one in fields(Calibration))
_OPEN = "SELECT job FROM calibrations JOIN jobs ON name = job WHERE device = ? AND state IN ('waiting', 'leased')"
_MEASURED = (
    "UPDATE calibrations SET measured_utc = ?, latency_ms = ?, accuracy_percent = ?, doubt = ?, result = ?"
    " WHERE job = ?"
)
_SINCE = (
    "SELECT count(*) FROM measurements JOIN submissions ON submission = submissions.id"
    " WHERE track = ? AND device = ? AND measured_utc > ?"
)


class CalibrationTable:
    """Calibrations of devices on tracks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, wanted: Calibration, now: datetime) -> Calibration:
        """Queue a calibration for a device and return it with its number.

        A calibration of the same device and track that has not ended is cancelled.
        """
        with self._database.transaction() as connection:
            waiting = connection.execute(
                f"{_OPEN} AND track = ?", (wanted.device, wanted.track)
            )
            for (job,) in waiting.fetchall():
                end_job(connection, job, JobState.CANCELLED, now.isoformat())

            values: dict[str, object] = {
                one.name: getattr(wanted, one.name) for one in fields(wanted)
            }
            values["id"] = None
            values["result"] = None
            connection.execute(insert("calibrations"), values)
            about = {wanted.job: f"calibration of {wanted.device} on {wanted.track}"}
            insert_jobs(connection, JobKind.CALIBRATING, about, now)
        return self.of_track(wanted.track, wanted.device)[-1]

    def add_result(
        self,
        job: str,
        figures: tuple[float, float],
        doubt: str | None,
        result: bytes,
        now: datetime,
    ) -> None:
        """Store a device's result, latency [ms] and accuracy [%], with its result document, and end the job.

        Raises RefereeError `lease-lost`, and stores nothing, if the job has ended already.
        """
        with self._database.transaction() as connection:
            if not end_job(connection, job, JobState.DONE, now.isoformat()):
                raise lease_lost("this job")
            connection.execute(
                _MEASURED,
                (now.isoformat(), *figures, doubt, zlib.compress(result), job),
            )

    def of_track(self, track: str, device: str | None = None) -> list[Calibration]:
        """Return the calibrations on a track, oldest first: those of `device`, or of all devices if it is None."""
        sql = f"SELECT {_CALIBRATION} FROM calibrations WHERE track = ? AND device = coalesce(?, device)"  # noqa: S608
        return [
            Calibration(*row)
            for row in self._database.rows(f"{sql} ORDER BY id", track, device)
        ]

    def of_job(self, job: str) -> Calibration | None:
        """Return the calibration that a job carries out, or None."""
        sql = f"SELECT {_CALIBRATION} FROM calibrations WHERE job = ?"  # noqa: S608 - names of columns
        return next((Calibration(*row) for row in self._database.rows(sql, job)), None)

    def measured_since(self, track: str, device: str, utc: str) -> int:
        """Return the number of submissions to a track that a device has measured after the time `utc`."""
        return int(self._database.rows(_SINCE, track, device, utc)[0][0])
