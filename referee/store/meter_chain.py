"""The hash chain of a run's readings.

The newest link is kept in memory, so that a receipt can include it without hashing all readings.
"""

from __future__ import annotations

import csv
import io
import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

from referee.store.hash_links import READINGS_START, meter_link
from referee.store.schema import columns_of

READING_COLUMNS = [name for name in columns_of("readings") if name != "run"]
_NEWEST = "SELECT rowid, elapsed_s, utc FROM readings WHERE run = ? ORDER BY rowid DESC LIMIT 1"
_SAME = (
    "SELECT 1 FROM readings WHERE run = ? AND rowid = ? AND elapsed_s = ? AND utc = ?"
)
_AFTER = (
    f"SELECT rowid, {', '.join(READING_COLUMNS)} FROM readings"  # noqa: S608 - names from code
    " WHERE run = ? AND rowid > ? ORDER BY rowid"
)


class MeterHead(NamedTuple):
    """The number of stored readings of a run, and the link of the last one."""

    readings: int
    link: bytes


class _Remembered(NamedTuple):
    newest: tuple[
        int, float, str
    ]  # row, elapsed_s and utc: after a rollback the same row may come again with other values
    head: MeterHead


class MeterChains:
    """The heads of the readings' chains of all runs. The caller must use it from one thread at a time."""

    def __init__(self) -> None:
        self._remembered: dict[int, _Remembered] = {}

    def head(self, connection: sqlite3.Connection, run: int) -> MeterHead:
        """Return the head of the chain of the readings that the connection sees.

        Only readings stored since the last call are hashed.
        """
        newest = connection.execute(_NEWEST, (run,)).fetchone()
        if newest is None:
            return MeterHead(0, READINGS_START)
        remembered = self._remembered.get(run)
        if remembered is not None and remembered.newest == tuple(newest):
            return remembered.head
        row = 0
        head = MeterHead(0, READINGS_START)
        if (
            remembered is not None
            and connection.execute(_SAME, (run, *remembered.newest)).fetchone()
        ):
            row = remembered.newest[0]
            head = remembered.head
        readings, link = head
        for _, *values in connection.execute(_AFTER, (run, row)):
            readings = readings + 1
            link = meter_link(link, csv_text([values]))
        head = MeterHead(readings, link)
        self._remembered[run] = _Remembered(tuple(newest), head)
        return head


def csv_text(rows: Iterable[Iterable[object]]) -> str:
    """Return rows as CSV in the form of the bundle: each line ends with a line feed, None is an empty cell."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
