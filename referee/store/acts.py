"""Operators' acts, each recorded in the same transaction as the change that it makes.

`EventTable.act` begins an act. Its caller passes the act to the store method that makes the change.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from referee.store.event_chain import append_event


@dataclass
class Act:
    """An operator's act in progress; `detail` names the operator and the action."""

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
    """Append the event of an act, at most once, in the transaction that makes its change.

    The event's detail includes the act's `found`, the values that the transaction read.
    """
    if act is None or act.is_stored:
        return
    append_event(connection, act.utc, run or act.run, "operator", act.detail | found)
    act.is_stored = True
