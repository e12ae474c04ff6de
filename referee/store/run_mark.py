"""The mark of a run: it changes whenever one of the rows changes that the page of the run shows."""

from __future__ import annotations

from referee.store.database import Database

_NEWEST = (
    "(SELECT max(id) FROM events WHERE run = ?1)",
    "(SELECT max(id) FROM scores WHERE run = ?1)",
    "(SELECT max(id) FROM posts WHERE run = ?1)",
    "(SELECT max(rowid) FROM readings WHERE run = ?1)",
    "(SELECT max(rowid) FROM served WHERE run = ?1)",
    "(SELECT max(id) FROM reviews WHERE run = ?1)",
    "(SELECT max(id) FROM notes WHERE run = ?1)",
    "(SELECT max(id) FROM decisions WHERE run = ?1)",
    # A refusal that repeats is counted in its row, and its time is the newest.
    "(SELECT max(id) || ' ' || sum(count) || ' ' || max(utc) FROM refusals WHERE run = ?1)",
)
_MARK = f"SELECT {', '.join(_NEWEST)}"


def run_mark(database: Database, run: int) -> tuple[object, ...]:
    """Return the mark of a run."""
    (row,) = database.rows(_MARK, run)
    return tuple(row)
