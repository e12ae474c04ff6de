"""The tables of a new database as one list of statements: what makes them one by one takes five times as long."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache

import sqlite_utils

from referee.store.schema import VERSION, create_tables

_HAS_TABLES = "SELECT 1 FROM sqlite_master LIMIT 1"
_ALL = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY rowid"


def create_quickly(database: sqlite_utils.Database) -> None:
    """Do what `create_tables` does: to an empty database by what it once did, to any other one by itself."""
    if database.execute(_HAS_TABLES).fetchone():
        create_tables(database)
        return
    for statement in _statements():
        database.execute(statement)


@cache
def _statements() -> list[str]:
    with closing(sqlite3.connect(":memory:")) as connection:
        create_tables(sqlite_utils.Database(connection))
        made = [sql for (sql,) in connection.execute(_ALL)]
    return [*made, f"PRAGMA user_version = {VERSION}"]
