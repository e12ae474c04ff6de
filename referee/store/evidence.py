"""What happened in a run: posts, readings, served images, events."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from power.meter import IntegratorState, Reading
from referee.records import Post
from referee.store.database import Database
from referee.store.group_commit import NOBODY, PREPARING

ROW = np.dtype("<f8")
_INSERT_POST = (
    "INSERT INTO posts (run, received_utc, elapsed_s, sha256, idempotency_key, row_count, rows, received_total)"
    " VALUES (?, ?, ?, ?, ?, ?, ?,"
    " ? + coalesce((SELECT received_total FROM posts WHERE run = ? ORDER BY id DESC LIMIT 1), 0))"
    " ON CONFLICT (run, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING"
)
_FIND_POST = "SELECT row_count, sha256, received_total FROM posts WHERE run = ? AND idempotency_key = ?"
_FLAGS = ("over_range", "voltage_peak_over", "current_peak_over")


_INSERT_SERVED = "INSERT INTO served (run, image, elapsed_s, bytes) VALUES "
_SERVED_AT_ONCE = (
    512,
    64,
    8,
    1,
)  # rows a statement: between two statements other threads take the interpreter


class EvidenceTables(Database):
    """Append-only; the rows of a post are kept as one blob."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._totals: dict[int, int] = {}

    def append_post(
        self,
        run: int,
        rows: NDArray[np.float64] | Callable[[], NDArray[np.float64]],
        *,
        sha256: str,
        idempotency_key: str | None,
        elapsed_s: float,
        now: datetime,
        unread_bytes: int = 0,
    ) -> Post:
        """Commit one accepted body: `rows` of shape (n, 7), as received. Returns its receipt once it is on disk.

        Rows that have yet to be made, of `unread_bytes` and by a function that does not take long, are made by the
        thread that commits; what that raises is raised here.

        A key that the run has used before changes nothing: the receipt is the first one, its `sha256` that of the
        first body.
        """
        self.received_total(run)
        post = (run, now.isoformat(), elapsed_s, sha256, idempotency_key)
        # What takes memory is done before the transaction, where it can fail for this body alone.
        count, packed = (0, b"") if callable(rows) else _packed(rows)

        def make() -> None:
            nonlocal count, packed
            if callable(rows):
                count, packed = _packed(rows())

        def insert(connection: sqlite3.Connection) -> Post | None:
            if connection.execute(_INSERT_POST, (*post, count, packed, count, run)).rowcount:
                return None
            return _post(connection.execute(_FIND_POST, (run, idempotency_key)).fetchone())

        def tell(earlier: Post | None) -> Post:
            if earlier is not None:
                return earlier
            self._totals[run] += count
            return Post(count, sha256, self._totals[run])

        return self._group.write(insert, tell, len(packed) + PREPARING * unread_bytes, make, run)

    def received_total(self, run: int) -> int:
        """How many detections of a run are on disk, as this process has counted them: the run's only writer knows."""
        if run not in self._totals:
            self._totals.setdefault(run, self.count_detections(run))
        return self._totals[run]

    def find_post(self, run: int, idempotency_key: str) -> Post | None:
        """The receipt given for this key, with the total as it was then."""
        rows = self._rows(_FIND_POST, run, idempotency_key)
        return _post(rows[0]) if rows else None

    def count_detections(self, run: int) -> int:
        """How many detections of a run are on disk."""
        return int(self._rows("SELECT total(row_count) AS n FROM posts WHERE run = ?", run)[0]["n"])

    def detections(self, run: int) -> NDArray[np.float64]:
        """All detections of a run in order of arrival, shape (n, 7), image numbers as the team knows them."""
        blobs = [row["rows"] for row in self._rows("SELECT rows FROM posts WHERE run = ? ORDER BY id", run)]
        return np.frombuffer(b"".join(blobs), dtype=ROW).astype(np.float64).reshape(-1, 7)

    def detections_after(self, run: int, post: int) -> tuple[NDArray[np.float64], int]:
        """The detections of the posts that came after that one (0: all), as `detections`, and the last post's id."""
        rows = self._rows("SELECT id, rows FROM posts WHERE run = ? AND id > ? ORDER BY id", run, post)
        packed = b"".join(row["rows"] for row in rows)
        last = int(rows[-1]["id"]) if rows else post
        return np.frombuffer(packed, dtype=ROW).astype(np.float64).reshape(-1, 7), last

    def append_readings(self, run: int, start_s: float, readings: Sequence[Reading]) -> None:
        """Store meter readings. SQLite keeps NaN as NULL: a NULL figure is one the meter had no data for."""
        values = [_reading_values(run, start_s, reading) for reading in readings]

        def insert(connection: sqlite3.Connection) -> None:
            connection.executemany("INSERT INTO readings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)

        self._group.write(insert, _nothing, owner=run)

    def readings(self, run: int, start_s: float) -> list[Reading]:
        """The readings of a run in order, their host time moved so that the window starts at `start_s`."""
        rows = self._rows("SELECT * FROM readings WHERE run = ? ORDER BY elapsed_s", run)
        return [_reading(row, start_s) for row in rows]

    def newest_energy_wh(self, run: int) -> float | None:
        """The energy of the newest reading that carries one."""
        sql = "SELECT energy_wh FROM readings WHERE run = ? AND energy_wh IS NOT NULL ORDER BY rowid DESC LIMIT 1"
        rows = self._rows(sql, run)
        return float(rows[0]["energy_wh"]) if rows else None

    def append_served(self, run: int, served: Sequence[tuple[int, float, int]]) -> None:
        """Log served images: (image number as the team knows it, elapsed_s, bytes)."""

        def insert(connection: sqlite3.Connection) -> None:
            at = 0
            for count in _SERVED_AT_ONCE:
                while len(served) - at >= count:
                    values = [value for one in served[at : at + count] for value in (run, *one)]
                    connection.execute(_INSERT_SERVED + ", ".join(["(?, ?, ?, ?)"] * count), values)
                    at += count

        self._group.write(insert, _nothing, owner=run)

    def served_images(self, run: int) -> list[int]:
        """The different images of a run in the log, by the number the team knows them by."""
        rows = self._rows("SELECT DISTINCT image FROM served WHERE run = ? ORDER BY image", run)
        return [row["image"] for row in rows]

    def log_event(self, now: datetime, run: int | None, kind: str, **detail: object) -> None:
        """Append to the contest's log of events."""
        self.append_events(run, [(now, kind, detail)])

    def append_events(
        self, run: int | None, events: Sequence[tuple[datetime, str, dict[str, object]]]
    ) -> None:
        """Append several events, (when, kind, detail), in one commit."""
        rows = [(when.isoformat(), run, kind, json.dumps(detail)) for when, kind, detail in events]
        sql = "INSERT INTO events (utc, run, kind, detail) VALUES (?, ?, ?, ?)"
        self._group.write(lambda connection: connection.executemany(sql, rows), _nothing, owner=run or NOBODY)

    def events(self, run: int) -> list[dict[str, Any]]:
        """The events of a run, oldest first."""
        rows = self._rows("SELECT utc, kind, detail FROM events WHERE run = ? ORDER BY id", run)
        return [{"utc": r["utc"], "kind": r["kind"], **json.loads(r["detail"])} for r in rows]


def _packed(rows: NDArray[np.float64]) -> tuple[int, bytes]:
    """How many rows, and these as they are stored."""
    return len(rows), rows.astype(ROW, copy=False).tobytes()


def _nothing(result: object) -> None:
    """Nothing to tell of a write but that it is on disk."""


def _post(row: sqlite3.Row) -> Post:
    return Post(row["row_count"], row["sha256"], row["received_total"])


def _reading_values(run: int, start_s: float, reading: Reading) -> tuple[object, ...]:
    flags = ",".join(name for name in _FLAGS if getattr(reading, name))
    return (
        *(run, reading.monotonic_s - start_s, reading.utc.isoformat()),
        *(reading.voltage_v, reading.current_a, reading.apparent_va, reading.power_w, reading.power_factor),
        *(reading.energy_wh, reading.integrator_s, reading.state.value, flags),
    )


def _reading(row: sqlite3.Row, start_s: float) -> Reading:
    def figure(name: str) -> float:
        return math.nan if row[name] is None else float(row[name])

    flags = row["flags"].split(",")
    return Reading(
        monotonic_s=start_s + row["elapsed_s"],
        utc=datetime.fromisoformat(row["utc"]),
        voltage_v=figure("voltage_v"),
        current_a=figure("current_a"),
        apparent_va=figure("apparent_va"),
        power_w=figure("power_w"),
        power_factor=figure("power_factor"),
        energy_wh=figure("energy_wh"),
        integrator_s=figure("integrator_s"),
        state=IntegratorState(row["state"]),
        over_range="over_range" in flags,
        voltage_peak_over="voltage_peak_over" in flags,
        current_peak_over="current_peak_over" in flags,
    )
