"""The readings of the meters."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from lpirc_power.meter import IntegratorState, Reading
from referee.store.database import Database
from referee.store.meter_chain import MeterChains, MeterHead
from referee.store.rows_csv import csv_of_run
from referee.store.schema import insert

_FIGURES = (
    *("voltage_v", "current_a", "apparent_va", "power_w", "power_factor"),
    *("energy_wh", "integrator_s", "voltage_range_v", "current_range_a"),
)
_FLAGS = ("over_range", "voltage_peak_over", "current_peak_over")
_NEWEST = "SELECT * FROM readings WHERE run = ? ORDER BY rowid DESC LIMIT 1"
_NEWEST_WITH_ENERGY = "SELECT * FROM readings WHERE run = ? AND energy_wh IS NOT NULL ORDER BY rowid DESC LIMIT 1"
# The close of a run of form 14 or earlier binds the hash of its readings without that column.
_KNOWS_STOPS = "SELECT 1 FROM readings WHERE run = ? AND stopped IS NOT NULL LIMIT 1"
_POWER = (
    "SELECT avg(elapsed_s) AS elapsed_s, avg(power_w) AS power_w FROM readings WHERE run = ? AND power_w IS NOT NULL"
    " GROUP BY CAST(elapsed_s * ? AS INTEGER) ORDER BY 1"
)


class ReadingTable:
    """Readings of all runs; append-only."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.chains = MeterChains()

    def append(self, run: int, start_s: float, readings: Sequence[Reading]) -> None:
        """Store meter readings. SQLite keeps NaN as NULL: a figure for which the meter had no data."""
        rows = [_reading_row(run, start_s, reading) for reading in readings]
        self._database.group.write(partial(_insert, rows))

    def of_run(self, run: int, start_s: float) -> list[Reading]:
        """Return the readings of a run in order, their host time shifted so that the window starts at `start_s`."""
        rows = self._database.rows(
            "SELECT * FROM readings WHERE run = ? ORDER BY elapsed_s", run
        )
        return [reading_of(row, start_s) for row in rows]

    def newest(self, run: int, *, with_energy: bool = False) -> Reading | None:
        """Return the newest reading, or the newest with an energy; its host time counts from the window's start."""
        rows = self._database.rows(_NEWEST_WITH_ENERGY if with_energy else _NEWEST, run)
        return reading_of(rows[0], 0.0) if rows else None

    def csv(self, run: int) -> bytes:
        """Return the readings of a run as stored, in order of arrival, with a header line; NULL is empty.

        The column `stopped` is left out if no reading has it: none does up to form 14.
        """
        return b"".join(self.csv_parts(run))

    def csv_parts(self, run: int) -> Iterator[bytes]:
        """Yield `csv` in parts."""
        left_out = {"run"}
        if not self._database.rows(_KNOWS_STOPS, run):
            left_out.add("stopped")
        return csv_of_run(self._database, "readings", run, left_out)

    def power_course(
        self, run: int, window_s: float, most: int
    ) -> tuple[Sequence[float], Sequence[float]]:
        """Return (elapsed_s, power_w) of a run: means over equal parts of its window, at most `most` of them."""
        rows = self._database.rows(_POWER, run, most / window_s)[:most]
        return [row["elapsed_s"] for row in rows], [row["power_w"] for row in rows]

    def head(self, run: int) -> MeterHead:
        """Return the number of a run's readings on disk, and the link of the last one.

        A server that takes up a run calls this once: it reads all of them, so the later receipts need not.
        """
        return self._database.group.write(partial(self.chains.head, run=run))


def _insert(rows: Sequence[dict[str, object]], connection: sqlite3.Connection) -> None:
    # Its cursor must not reach the waiting thread: ending there, it would reset the statement under another one.
    connection.executemany(insert("readings"), rows).close()


def _reading_row(run: int, start_s: float, reading: Reading) -> dict[str, object]:
    return vars(reading) | {
        "run": run,
        "elapsed_s": reading.monotonic_s - start_s,
        "utc": reading.utc.isoformat(),
        "state": reading.state.value,
        "flags": ",".join(name for name in _FLAGS if getattr(reading, name)),
    }


def reading_of(row: Any, start_s: float) -> Reading:
    """Build a stored reading from its columns by name; None is a figure for which the meter had no data."""
    flags = row["flags"].split(",")
    values: dict[str, Any] = {}
    for name in _FIGURES:
        figure = row[name]
        values[name] = math.nan if figure is None else float(figure)
    values |= {name: name in flags for name in _FLAGS}
    utc = datetime.fromisoformat(row["utc"])
    state = IntegratorState(row["state"])
    when_s = start_s + row["elapsed_s"]
    changed = row["changed"] or ""
    stopped = bool(row["stopped"])
    return Reading(
        monotonic_s=when_s,
        utc=utc,
        state=state,
        changed=changed,
        stopped=stopped,
        **values,
    )
