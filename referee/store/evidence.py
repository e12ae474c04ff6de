"""What happened in a run beside its detections: readings, served images, events."""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from lpirc_power.meter import IntegratorState, Reading, Setup
from referee.store.chain import LOG_START, terms_sha256
from referee.store.log import LoggedEvent, append_event
from referee.store.meter_chain import csv_text
from referee.store.posts import PostTables
from referee.store.records import RUN_CLOSED, SETTINGS, Closing
from referee.store.schema import columns_of, insert

_FIGURES = (
    *("voltage_v", "current_a", "apparent_va", "power_w", "power_factor"),
    *("energy_wh", "integrator_s", "voltage_range_v", "current_range_a"),
)
_FLAGS = ("over_range", "voltage_peak_over", "current_peak_over")
_INSERT_SERVED = "INSERT INTO served (run, image, elapsed_s, bytes) VALUES "
_COUNT_REFUSED = "SELECT coalesce(sum(refused), 0) AS n FROM posts WHERE run = ? AND refused IS NOT NULL"
_REFUSED = (
    "SELECT post, received_utc, elapsed_s, line, reason, text FROM refused_rows JOIN posts ON posts.id = post"
    " WHERE refused_rows.run = ? ORDER BY refused_rows.rowid"
)
_NEWEST = "SELECT * FROM readings WHERE run = ? ORDER BY rowid DESC LIMIT 1"
_NEWEST_WITH_ENERGY = "SELECT * FROM readings WHERE run = ? AND energy_wh IS NOT NULL ORDER BY rowid DESC LIMIT 1"
_CLOSED = "SELECT detail, link FROM events WHERE run = ? AND kind = ? ORDER BY id DESC LIMIT 1"
_SETTINGS = (
    "SELECT detail FROM events WHERE kind = ? AND json_extract(detail, '$.values') IS NOT NULL"
    " ORDER BY id DESC LIMIT 1"
)
_LOG = (  # whoever has changed it may have stored another type
    "SELECT id, coalesce(CAST(utc AS TEXT), '') AS utc, run, coalesce(CAST(kind AS TEXT), '') AS kind,"
    " coalesce(CAST(detail AS TEXT), '') AS detail, coalesce(CAST(link AS BLOB), x'') AS link"
    " FROM events WHERE id > ? ORDER BY id LIMIT ?"
)
# The close of a run of form 14 or earlier binds the hash of its readings without that column.
_KNOWS_STOPS = "SELECT 1 FROM readings WHERE run = ? AND stopped IS NOT NULL LIMIT 1"
_EVENTS_AT_ONCE, _ROWS_AT_ONCE = 1000, 500
_TERMS = (
    "SELECT images, window_s, setup, meter_identity, meter_standing, images_digest, numbers"
    " FROM runs JOIN image_orders ON run = id WHERE id = ?"
)
_LOG_BEFORE = (
    "SELECT max(id) AS id, count(*) AS events, link FROM events"
    " WHERE id < (SELECT min(id) FROM events WHERE run = ?)"
)
# Rows a statement: few statements, since between two of them other threads take the interpreter.
_SERVED_AT_ONCE = 500
_LAST_RECORD = (
    "SELECT max(elapsed_s) AS elapsed_s, utc FROM (SELECT run, elapsed_s, utc FROM readings"
    " UNION ALL SELECT run, elapsed_s, received_utc FROM posts)"
    " WHERE run IN (SELECT id FROM runs WHERE opened_utc = ?)"
)


class EvidenceTables(PostTables):
    """Append-only.

    Served images wait in memory for the next commit of this connection, whatever it is of: what was served before a
    POST is on disk with it, and serving an image never waits for the disk.
    """

    def __init__(self, path: Path, **how: bool) -> None:
        self._served: list[tuple[int, int, float, int]] = []
        super().__init__(path, **how)

    def _take_along(self) -> int:
        waiting = self._served[:]
        for at in range(0, len(waiting), _SERVED_AT_ONCE):
            part = waiting[at : at + _SERVED_AT_ONCE]
            sql = _INSERT_SERVED + ", ".join(["(?, ?, ?, ?)"] * len(part))
            self._connection.execute(sql, [*chain(*part)])
        return len(waiting)

    def _forget(self, count: int) -> None:
        del self._served[:count]

    def append_readings(
        self, run: int, start_s: float, readings: Sequence[Reading]
    ) -> None:
        """Store meter readings. SQLite keeps NaN as NULL: a NULL figure is one the meter had no data for."""
        rows = [_reading_row(run, start_s, reading) for reading in readings]
        self._write_rows(insert("readings"), rows)

    def _write_rows(self, sql: str, rows: Sequence[Any]) -> None:
        # Its cursor must not reach the waiting thread: ending there, it would reset the statement under another one.
        self._group.write(lambda connection: connection.executemany(sql, rows).close())

    def readings(self, run: int, start_s: float) -> list[Reading]:
        """The readings of a run in order, their host time moved so that the window starts at `start_s`."""
        rows = self._rows(
            "SELECT * FROM readings WHERE run = ? ORDER BY elapsed_s", run
        )
        return [reading_of(row, start_s) for row in rows]

    def newest_reading(self, run: int, *, with_energy: bool = False) -> Reading | None:
        """The newest reading, or the newest that carries an energy; its host time counts from the window's start."""
        rows = self._rows(_NEWEST_WITH_ENERGY if with_energy else _NEWEST, run)
        return reading_of(rows[0], 0.0) if rows else None

    def log_served(
        self, run: int, images: Sequence[tuple[int, int]], elapsed_s: float
    ) -> None:
        """Log images as served, (number as the team knows it, bytes): on disk with the next commit."""
        self._served.extend(
            [(run, image, elapsed_s, size_bytes) for image, size_bytes in images]
        )  # atomic

    def flush_served(self) -> None:
        """Commit the served images that wait. Raises RefereeError `storage-failed`, and then keeps them."""
        if self._served:
            self._group.write(lambda _: None)

    def served_images(self, run: int) -> list[int]:
        """The different images of a run in the log, by the number the team knows them by."""
        rows = self._rows(
            "SELECT DISTINCT image FROM served WHERE run = ? ORDER BY image", run
        )
        return [row["image"] for row in rows]

    def served_log(self, run: int) -> list[tuple[int, float]]:
        """Everything that was served in a run, in order: (image as the team knows it, elapsed_s)."""
        sql = "SELECT image, elapsed_s FROM served WHERE run = ? ORDER BY rowid"
        return [(row["image"], row["elapsed_s"]) for row in self._rows(sql, run)]

    def count_refused(self, run: int) -> int:
        """How many rows of a run were refused while others of their bodies were taken."""
        return int(self._rows(_COUNT_REFUSED, run)[0]["n"])

    def refused_rows(self, run: int) -> list[dict[str, Any]]:
        """Those on record, in order of arrival: post, received_utc, elapsed_s, line, reason, text."""
        return [dict(row) for row in self._rows(_REFUSED, run)]

    def served_after(self, run: int, row: int) -> tuple[list[int], int]:
        """The images that were logged after that row of the log (0: all), and the last one's row."""
        sql = (
            "SELECT rowid, image FROM served WHERE run = ? AND rowid > ? ORDER BY rowid"
        )
        rows = self._rows(sql, run, row)
        return [one["image"] for one in rows], rows[-1]["rowid"] if rows else row

    def last_record(self, opened_utc: str | None) -> tuple[float, datetime] | None:
        """(elapsed_s, UTC) of the last reading or post of the runs that opened then: one, or those of a heat."""
        found = self._rows(_LAST_RECORD, opened_utc)[0]
        return (
            (found["elapsed_s"], datetime.fromisoformat(found["utc"]))
            if found["utc"]
            else None
        )

    def readings_csv(self, run: int) -> bytes:
        """The readings of a run as stored, in order of arrival, with a line of names; NULL is empty.

        The column `stopped` is left out where no reading has it: none up to form 14.
        """
        return b"".join(self._csv("readings", run))

    def served_csv(self, run: int) -> bytes:
        """Everything that was served in a run, in the same form."""
        return b"".join(self._csv("served", run))

    def _csv(self, table: str, run: int) -> Iterator[bytes]:
        """In parts: while one is made, no other thread of the server gets on."""
        left_out = (
            {"run"}
            if table != "readings" or self._rows(_KNOWS_STOPS, run)
            else {"run", "stopped"}
        )
        names, last = [name for name in columns_of(table) if name not in left_out], -1
        sql = f"SELECT {', '.join(names)}, rowid FROM {table} WHERE run = ? AND rowid > ? ORDER BY rowid LIMIT ?"  # noqa: S608 - names from code
        rows = [tuple(names)]
        while rows:
            yield csv_text(rows).encode()
            found = [tuple(row) for row in self._rows(sql, run, last, _ROWS_AT_ONCE)]
            rows, last = [row[:-1] for row in found], found[-1][-1] if found else last

    def closing_evidence(self, run: int) -> dict[str, object]:
        """What the event of a run's close binds: bodies, the head of their chain, readings, served images, terms."""
        posts, head = self.receipt_head(run)
        digests = {
            "readings_sha256": _sha256(self._csv("readings", run)),
            "served_sha256": _sha256(self._csv("served", run)),
            "terms_sha256": self._terms_sha256(run),
        }
        return {"posts": posts, "head": head.hex(), **digests}

    def _terms_sha256(self, run: int) -> str:
        images, window_s, setup, *rest, numbers = self._rows(_TERMS, run)[0]
        order = np.frombuffer(numbers, "<i8").tolist()
        return terms_sha256(
            [images, window_s, Setup(**json.loads(setup)).stated, *rest], order
        )

    def closing(self, run: int) -> Closing | None:
        """What a run was closed with; None before it is closed, or if it was by an earlier version."""
        rows = self._rows(_CLOSED, run, RUN_CLOSED)
        detail = json.loads(rows[0]["detail"]) if rows else {}
        if "head" not in detail:
            return None
        return Closing(run, detail["posts"], detail["head"], rows[0]["link"].hex())

    def log_head(self) -> tuple[int, str, str]:
        """How many events the log has, and the time and the link (hexadecimal) of the newest one."""
        rows = self._rows("SELECT id, utc, link FROM events ORDER BY id DESC LIMIT 1")
        return (
            (rows[0]["id"], rows[0]["utc"], rows[0]["link"].hex())
            if rows
            else (0, "", LOG_START.hex())
        )

    def log_after(self, number: int) -> Iterator[LoggedEvent]:
        """The events after that one, oldest first."""
        while rows := self._rows(_LOG, number, _EVENTS_AT_ONCE):
            yield from (LoggedEvent(*row) for row in rows)
            number = rows[-1]["id"]

    def last_settings(self) -> dict[str, Any] | None:
        """The event of the newest start of the server that kept all settings."""
        rows = self._rows(_SETTINGS, SETTINGS)
        return json.loads(rows[0]["detail"]) if rows else None

    def log_event(
        self, now: datetime, run: int | None, kind: str, **detail: object
    ) -> None:
        """Append to the contest's log of events."""
        self.append_events(run, [(now, kind, detail)])

    def append_events(
        self, run: int | None, events: Sequence[tuple[datetime, str, dict[str, object]]]
    ) -> None:
        """Append several events, (when, kind, detail), in one commit."""

        def append(connection: sqlite3.Connection) -> None:
            for when, kind, detail in events:
                append_event(connection, when.isoformat(), run, kind, detail)

        self._group.write(append)

    def log_since(self, run: int) -> tuple[int, bytes, list[LoggedEvent]]:
        """The log from a run's first event on: how many came before, the link before it, and the events."""
        before = self._rows(_LOG_BEFORE, run)[0]
        return (
            before["events"],
            before["link"] or LOG_START,
            [*self.log_after(before["id"] or 0)],
        )

    def events(self, run: int) -> list[dict[str, Any]]:
        """The events of a run, oldest first."""
        rows = self._rows(
            "SELECT utc, kind, detail FROM events WHERE run = ? ORDER BY id", run
        )
        return [
            {"utc": r["utc"], "kind": r["kind"], **json.loads(r["detail"])}
            for r in rows
        ]

    def events_of_kinds(self, kinds: Sequence[str]) -> dict[int, list[dict[str, Any]]]:
        """The events of these kinds by run, in the order of the runs; each run's oldest first."""
        marks = ", ".join("?" * len(kinds))
        sql = f"SELECT utc, run, kind, detail FROM events WHERE kind IN ({marks}) ORDER BY run, id"  # noqa: S608 - only marks
        found: dict[int, list[dict[str, Any]]] = {}
        for r in self._rows(sql, *kinds):
            event = {"utc": r["utc"], "kind": r["kind"], **json.loads(r["detail"])}
            found.setdefault(r["run"], []).append(event)
        return found


def _sha256(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


def _reading_row(run: int, start_s: float, reading: Reading) -> dict[str, object]:
    return vars(reading) | {
        "run": run,
        "elapsed_s": reading.monotonic_s - start_s,
        "utc": reading.utc.isoformat(),
        "state": reading.state.value,
        "flags": ",".join(name for name in _FLAGS if getattr(reading, name)),
    }


def reading_of(row: Any, start_s: float) -> Reading:
    """A stored reading from its columns by name, where None is a figure that the meter had no data for."""
    flags = row["flags"].split(",")
    values: dict[str, Any] = {
        name: math.nan if row[name] is None else float(row[name]) for name in _FIGURES
    }
    values |= {name: name in flags for name in _FLAGS}
    utc, state = datetime.fromisoformat(row["utc"]), IntegratorState(row["state"])
    when_s, changed, stopped = (
        start_s + row["elapsed_s"],
        row["changed"] or "",
        bool(row["stopped"]),
    )
    return Reading(
        monotonic_s=when_s,
        utc=utc,
        state=state,
        changed=changed,
        stopped=stopped,
        **values,
    )
