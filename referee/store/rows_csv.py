"""Rows of a run as CSV, in the form of the bundle and of the evidence in the run's closing event."""

from __future__ import annotations

from collections.abc import Iterator, Set

from referee.store.database import Database
from referee.store.meter_chain import csv_text
from referee.store.schema import columns_of

_ROWS_AT_ONCE = 500


def csv_of_run(
    database: Database, table: str, run: int, left_out: Set[str]
) -> Iterator[bytes]:
    """Yield a header line and a table's rows of a run, in order of arrival.

    It yields parts, because other threads of the server cannot run while a part is made.
    """
    names = [name for name in columns_of(table) if name not in left_out]
    sql = (
        f"SELECT {', '.join(names)}, rowid FROM {table}"  # noqa: S608 - names from code
        " WHERE run = ? AND rowid > ? ORDER BY rowid LIMIT ?"
    )
    yield csv_text([names]).encode()

    last = -1
    while found := database.rows(sql, run, last, _ROWS_AT_ONCE):
        yield csv_text(tuple(row)[:-1] for row in found).encode()
        last = found[-1]["rowid"]
