"""The devices that measure submissions."""

from __future__ import annotations

import sqlite3
from dataclasses import fields
from datetime import datetime

from referee.errors import RefereeError
from referee.store.acts import Act, put_on_record
from referee.store.database import Database
from referee.store.event_chain import append_event
from referee.store.job_table import end_job, give_back
from referee.store.model_records import Device, JobState
from referee.store.schema import insert

_DEVICE = ", ".join(one.name for one in fields(Device))
_ADD = (
    insert("devices")
    + " ON CONFLICT (name) DO UPDATE SET key_hash = :key_hash, created_utc = :created_utc"
)
_OPEN = "SELECT job FROM calibrations JOIN jobs ON name = job WHERE device = ? AND state IN ('waiting', 'leased')"
_LEASED = (
    "SELECT name FROM jobs WHERE worker = ? AND state = 'leased' AND kind <> 'scoring'"
)


class DeviceTable:
    """Devices by name, each with the hash of its key."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self, name: str, key_hash: str, now: datetime, act: Act | None = None
    ) -> None:
        """Register a device, or replace its key. A disabled device stays disabled."""
        values: dict[str, object] = dict.fromkeys(
            ("seen_utc", "disabled", "disabled_utc", "enabled_utc")
        )
        values["meter"] = None
        values |= {"name": name, "key_hash": key_hash, "created_utc": now.isoformat()}
        with self._database.transaction() as connection:
            connection.execute(_ADD, values)
            put_on_record(connection, act)

    def remove(self, name: str, act: Act | None = None) -> None:
        """Remove a device; its key is refused from now on. Raises RefereeError `device-unknown`."""
        with self._database.transaction() as connection:
            if not connection.execute(
                "DELETE FROM devices WHERE name = ?", (name,)
            ).rowcount:
                raise _unknown(name)
            put_on_record(connection, act)

    def all(self) -> dict[str, Device]:
        """Return the devices, by name."""
        rows = self._database.rows(f"SELECT {_DEVICE} FROM devices ORDER BY name")  # noqa: S608 - names of columns
        return {row["name"]: Device(*row) for row in rows}

    def say_meter(self, device: str, meter: str | None) -> None:
        """Store the meter with which a device measures energy, None for no meter."""
        sql = "UPDATE devices SET meter = ? WHERE name = ? AND meter IS NOT ?"
        with self._database.transaction() as connection:
            connection.execute(sql, (meter, device, meter))

    def meters(self) -> dict[str, str]:
        """Return the meters of the devices that measure energy, by device name."""
        return {
            name: one.meter for name, one in self.all().items() if one.meter is not None
        }

    def with_key(self, key_hash: str, now: datetime) -> str | None:
        """Return the device whose key has this SHA-256, or None.

        If there is one, `now` is stored as the time at which the device was last seen.
        """
        known = self._database.rows(
            "SELECT 1 FROM devices WHERE key_hash = ?", key_hash
        )
        if not known:  # a guessed key must not take the write lock
            return None
        sql = "UPDATE devices SET seen_utc = ? WHERE key_hash = ? RETURNING name"
        with self._database.transaction() as connection:
            return next(
                (
                    name
                    for (name,) in connection.execute(sql, (now.isoformat(), key_hash))
                ),
                None,
            )

    def disable(
        self, name: str, reason: str, now: datetime, act: Act | None = None
    ) -> None:
        """Disable a device: lease it no more jobs, and give its present job back without counting a failure.

        The contest's log records it. Raises RefereeError `device-unknown`.
        """
        utc = now.isoformat()
        with self._database.transaction() as connection:
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
            put_on_record(connection, act)

    def enable(self, name: str, now: datetime, act: Act | None = None) -> None:
        """Enable a device again with a clean history. Raises RefereeError `device-unknown`."""
        sql = "UPDATE devices SET disabled = NULL, disabled_utc = NULL, enabled_utc = ? WHERE name = ?"
        with self._database.transaction() as connection:
            found = connection.execute(
                "SELECT disabled FROM devices WHERE name = ?", (name,)
            ).fetchone()
            if found is None:
                raise _unknown(name)
            connection.execute(sql, (now.isoformat(), name))
            put_on_record(connection, act, disabled=found["disabled"])


def _end_calibrations(connection: sqlite3.Connection, device: str, utc: str) -> None:
    for (job,) in connection.execute(_OPEN, (device,)).fetchall():
        end_job(connection, job, JobState.CANCELLED, utc)


def _unknown(name: str) -> RefereeError:
    return RefereeError(
        "device-unknown", f"There is no device {name!r}; see: referee device list"
    )
