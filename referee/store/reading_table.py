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
# The closing event of a run of form 14 or earlier has the hash of its readings without that column.
_KNOWS_STOPS = "SELECT 1 FROM readings WHERE run = ? AND stopped IS NOT NULL LIMIT 1"
_POWER = (
    "SELECT avg(elapsed_s) AS elapsed_s, avg(power_w) AS power_w FROM readings WHERE run = ? AND abs(power_w) < 9e999"
    " GROUP BY CAST(elapsed_s * ? AS INTEGER) ORDER BY 1"
)


class ReadingTable:
    """The readings of all runs; append-only."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.chains = MeterChains()

    def append(self, run: int, start_s: float, readings: Sequence[Reading]) -> None:
        """Store meter readings. SQLite stores NaN, which means no data, as NULL."""
        rows = [_reading_row(run, start_s, reading) for reading in readings]
        self._database.group.write(partial(_insert, rows))

    def of_run(self, run: int, start_s: float) -> list[Reading]:
        """Return a run's readings in order, with host times shifted so that its window starts at `start_s`."""
        rows = self._database.rows(
            "SELECT * FROM readings WHERE run = ? ORDER BY elapsed_s", run
        )
        return [reading_of(row, start_s) for row in rows]

    def newest(self, run: int, *, with_energy: bool = False) -> Reading | None:
        """Return the newest reading of a run, or None; its host time counts from the start of the window.

        With `with_energy`, return the newest reading that has an energy.
        """
        rows = self._database.rows(_NEWEST_WITH_ENERGY if with_energy else _NEWEST, run)
        return reading_of(rows[0], 0.0) if rows else None

    def csv(self, run: int) -> bytes:
        """Return the readings of a run as stored, in order of arrival, with a header line; NULL is an empty cell.

        The column `stopped` is left out if no reading has a value in it, as in versions up to 14 of the database.
        """
        return b"".join(self.csv_parts(run))

    def csv_parts(self, run: int) -> Iterator[bytes]:
        """Yield the result of `csv` in parts."""
        left_out = {"run"}
        if not self._database.rows(_KNOWS_STOPS, run):
            left_out.add("stopped")
        return csv_of_run(self._database, "readings", run, left_out)

    def power_course(
        self, run: int, window_s: float, most: int
    ) -> tuple[Sequence[float], Sequence[float]]:
        """Return the power of a run over time as (elapsed_s, power_w).

        The values are means over equal parts of its window, at most `most` of them. Readings without a value, or above
        the meter's range (infinite), are left out.
        """
        rows = self._database.rows(_POWER, run, most / window_s)[:most]
        return [row["elapsed_s"] for row in rows], [row["power_w"] for row in rows]

    def head(self, run: int) -> MeterHead:
        """Return the number of a run's readings on disk, and the link of the last one.

        A server that resumes a run calls this once. It hashes all readings, so that later receipts need not.
        """
        return self._database.group.write(partial(self.chains.head, run=run))


def _insert(rows: Sequence[dict[str, object]], connection: sqlite3.Connection) -> None:
    # The cursor must not be freed in the waiting thread: that would reset the statement while another thread uses it.
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
    """Build a reading from a row of the table; a figure that is None becomes NaN (the meter had no data)."""
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
