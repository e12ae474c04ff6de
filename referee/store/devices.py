"""The devices that measure, and what they measured of their tracks' calibration models."""

from __future__ import annotations

import sqlite3
import zlib
from dataclasses import fields
from datetime import datetime

from referee.errors import RefereeError
from referee.store.acts import put_on_record
from referee.store.database import Database
from referee.store.jobs import end_job, give_back, insert_jobs
from referee.store.log import append_event
from referee.store.model_records import Calibration, Device, JobKind, JobState
from referee.store.schema import insert
from referee.store.submissions import lease_lost

_DEVICE = ", ".join(one.name for one in fields(Device))
_CALIBRATION = ", ".join(one.name for one in fields(Calibration))
_ADD = (
    insert("devices")
    + " ON CONFLICT (name) DO UPDATE SET key_hash = :key_hash, created_utc = :created_utc"
)
_OPEN = "SELECT job FROM calibrations JOIN jobs ON name = job WHERE device = ? AND state IN ('waiting', 'leased')"
_MEASURED = (
    "UPDATE calibrations SET measured_utc = ?, latency_ms = ?, accuracy_percent = ?, doubt = ?, result = ?"
    " WHERE job = ?"
)
_LEASED = (
    "SELECT name FROM jobs WHERE worker = ? AND state = 'leased' AND kind <> 'scoring'"
)
_SINCE = (
    "SELECT count(*) FROM measurements JOIN submissions ON submission = submissions.id"
    " WHERE track = ? AND device = ? AND measured_utc > ?"
)


class DeviceTables(Database):
    """The devices and their calibrations."""

    def add_device(self, name: str, key_hash: str, now: datetime) -> None:
        """Register a device, or give it another key; one that is disabled stays so."""
        values: dict[str, object] = dict.fromkeys(
            ("seen_utc", "disabled", "disabled_utc", "enabled_utc")
        )
        values["meter"] = None
        values |= {"name": name, "key_hash": key_hash, "created_utc": now.isoformat()}
        with self._transaction() as connection:
            connection.execute(_ADD, values)
            put_on_record(connection)

    def remove_device(self, name: str) -> None:
        """Remove a device, whose key is refused from now on. Raises RefereeError `device-unknown`."""
        with self._transaction() as connection:
            if not connection.execute(
                "DELETE FROM devices WHERE name = ?", (name,)
            ).rowcount:
                raise _unknown(name)
            put_on_record(connection)

    def devices(self) -> dict[str, Device]:
        """The devices, by name."""
        rows = self._rows(f"SELECT {_DEVICE} FROM devices ORDER BY name")  # noqa: S608 - names of columns
        return {row["name"]: Device(*row) for row in rows}

    def say_meter(self, device: str, meter: str | None) -> None:
        """Keep which meter a device measures energy with; None: with none."""
        sql = "UPDATE devices SET meter = ? WHERE name = ? AND meter IS NOT ?"
        with self._transaction() as connection:
            connection.execute(sql, (meter, device, meter))

    def meters(self) -> dict[str, str]:
        """The meters of the devices that measure energy, by the devices' names."""
        return {
            name: one.meter
            for name, one in self.devices().items()
            if one.meter is not None
        }

    def device_of(self, key_hash: str, now: datetime) -> str | None:
        """The device with that SHA-256 of its key, which is seen now."""
        known = self._rows("SELECT 1 FROM devices WHERE key_hash = ?", key_hash)
        if not known:  # whoever guesses keys takes no turn of those who write
            return None
        sql = "UPDATE devices SET seen_utc = ? WHERE key_hash = ? RETURNING name"
        with self._transaction() as connection:
            return next(
                (
                    name
                    for (name,) in connection.execute(sql, (now.isoformat(), key_hash))
                ),
                None,
            )

    def disable_device(self, name: str, reason: str, now: datetime) -> None:
        """Give a device no work, and what it is at to another one, without a failure; it is logged.

        Raises RefereeError `device-unknown`.
        """
        utc = now.isoformat()
        with self._transaction() as connection:
            sql = "UPDATE devices SET disabled = ?, disabled_utc = ? WHERE name = ?"
            if not connection.execute(sql, (reason, utc, name)).rowcount:
                raise _unknown(name)
            _end_calibrations(connection, name, utc)
            why = {
                "reason": f"{name} was disabled: {reason}",
                "failed": False,
                "lost": False,
            }
            for (job,) in connection.execute(_LEASED, (name,)).fetchall():
                give_back(connection, now, name=job, worker=name, **why)
            append_event(
                connection,
                utc,
                None,
                "device-disabled",
                {"device": name, "reason": reason},
            )
            put_on_record(connection)

    def enable_device(self, name: str, now: datetime) -> None:
        """Let a device measure again, as if it had measured nothing yet. Raises `device-unknown`."""
        sql = "UPDATE devices SET disabled = NULL, disabled_utc = NULL, enabled_utc = ? WHERE name = ?"
        with self._transaction() as connection:
            found = connection.execute(
                "SELECT disabled FROM devices WHERE name = ?", (name,)
            ).fetchone()
            if found is None:
                raise _unknown(name)
            connection.execute(sql, (now.isoformat(), name))
            put_on_record(connection, disabled=found["disabled"])

    def add_calibration(self, wanted: Calibration, now: datetime) -> Calibration:
        """Let a device measure a calibration model next; returns it with its number. An earlier one that waits ends."""
        with self._transaction() as connection:
            for (job,) in connection.execute(
                f"{_OPEN} AND track = ?", (wanted.device, wanted.track)
            ).fetchall():
                end_job(connection, job, JobState.CANCELLED, now.isoformat())
            values: dict[str, object] = {
                one.name: getattr(wanted, one.name) for one in fields(wanted)
            }
            connection.execute(
                insert("calibrations"), values | {"id": None, "result": None}
            )
            about = {wanted.job: f"calibration of {wanted.device} on {wanted.track}"}
            insert_jobs(connection, JobKind.CALIBRATING, about, now)
        return self.calibrations(wanted.track, wanted.device)[-1]

    def add_calibrated(
        self,
        job: str,
        figures: tuple[float, float],
        doubt: str | None,
        result: bytes,
        now: datetime,
    ) -> None:
        """Store what a device measured, latency [ms] and accuracy [%], with its document; it ends the job.

        Raises RefereeError `lease-lost`, and stores nothing, if that is over already.
        """
        with self._transaction() as connection:
            if not end_job(connection, job, JobState.DONE, now.isoformat()):
                raise lease_lost("this job")
            connection.execute(
                _MEASURED,
                (now.isoformat(), *figures, doubt, zlib.compress(result), job),
            )

    def calibrations(self, track: str, device: str | None = None) -> list[Calibration]:
        """The calibrations on a track, oldest first, of all devices or one."""
        sql = f"SELECT {_CALIBRATION} FROM calibrations WHERE track = ? AND device = coalesce(?, device)"  # noqa: S608
        return [
            Calibration(*row) for row in self._rows(f"{sql} ORDER BY id", track, device)
        ]

    def calibration_of_job(self, job: str) -> Calibration | None:
        """The calibration that a job makes, if it makes one."""
        sql = f"SELECT {_CALIBRATION} FROM calibrations WHERE job = ?"  # noqa: S608 - names of columns
        return next((Calibration(*row) for row in self._rows(sql, job)), None)

    def measured_since(self, track: str, device: str, utc: str) -> int:
        """How many results of a device were stored on a track after a moment."""
        return int(self._rows(_SINCE, track, device, utc)[0][0])


def _end_calibrations(connection: sqlite3.Connection, device: str, utc: str) -> None:
    for (job,) in connection.execute(_OPEN, (device,)).fetchall():
        end_job(connection, job, JobState.CANCELLED, utc)


def _unknown(name: str) -> RefereeError:
    return RefereeError(
        "device-unknown", f"There is no device {name!r}; see: referee device list"
    )
