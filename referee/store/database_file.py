"""Checks that a file is the database of a contest, in a version that this program knows."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from referee.errors import RefereeError
from referee.presence import status
from referee.store.schema import VERSION

_COLUMNS = (
    "SELECT t.name, c.name FROM sqlite_master AS t, pragma_table_info(t.name) AS c"
)


def find_columns(
    connection: sqlite3.Connection, path: Path, *, create: bool = False
) -> set[tuple[str, str]]:
    """Return the database's (table, column) pairs.

    Raises RefereeError `database-foreign` if it is not a contest's database.
    """
    found = {(table, column) for table, column in connection.execute(_COLUMNS)}
    if not create and ("posts", "rows") not in found:
        raise RefereeError(
            "database-foreign",
            f"{path} is not a contest's database; put this contest's own, or a copy of it, there.",
        )
    return found


def form_of(connection: sqlite3.Connection, path: Path) -> int:
    """Return the database's form. Raises RefereeError `database-version` if it is newer than this program."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > VERSION:
        raise RefereeError(
            "database-version",
            f"{path} was made by a newer version of this program (database version {version}; this program knows "
            f"{VERSION}). Use that version.",
        )
    return version


def require_content(path: Path) -> None:
    """Raise RefereeError `database-missing` if the file is missing or empty, `not-accessible` if it cannot be read."""
    found = status(path)
    if found is not None and found.st_size:
        return
    raise RefereeError(
        "database-missing",
        f"{path} is missing or empty; make it from the journal: referee restore --journal {path.parent}, or put a copy "
        "of it back (a new contest is made by: referee init).",
    )
