"""Acts of operators: the record of an act is stored in the transaction that carries it out.

`EventTable.act` begins an act; its caller passes it to the store's method that carries it out.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from referee.store.event_chain import append_event


@dataclass
class Act:
    """An act in progress; `detail` names operator and action."""

    utc: str
    detail: dict[str, object]
    run: int | None = None
    is_stored: bool = False


def put_on_record(
    connection: sqlite3.Connection,
    act: Act | None,
    run: int | None = None,
    **found: object,
) -> None:
    """Store the act, once, within the transaction that carries it out, with the values that the transaction `found`."""
    if act is None or act.is_stored:
        return
    append_event(connection, act.utc, run or act.run, "operator", act.detail | found)
    act.is_stored = True
