"""SQL statements that put a row from the journal into a table."""

from __future__ import annotations

from collections.abc import Sequence

from referee.store.schema import ROWID, key_of


def put_by_key(table: str, columns: Sequence[str]) -> str:
    """Return the statement that inserts a row, or updates the row with the same key in place to keep the row order."""
    names = ", ".join(columns)
    marks = ", ".join("?" * len(columns))
    changes = ", ".join(f"{column} = excluded.{column}" for column in columns)
    conflict = f"ON CONFLICT ({key_of(table)}) DO UPDATE SET {changes}"
    return f"INSERT INTO {table} ({names}) VALUES ({marks}) {conflict}"  # noqa: S608 - names from code


def put_by_number(table: str, columns: Sequence[str]) -> str:
    """Return the statement that inserts a row under its number, or replaces the row with that number."""
    names = ", ".join([ROWID, *columns])
    marks = ", ".join("?" * (1 + len(columns)))
    return f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({marks})"  # noqa: S608 - names from code
