"""What an operator does, and who it was: the record of an act is stored in the transaction that does it.

`EventTable.act` says which act the thread is at; whatever method does it calls `put_on_record`.
"""

from __future__ import annotations

import sqlite3
from contextvars import ContextVar
from dataclasses import dataclass

from referee.store.event_chain import append_event
from referee.store.records import RunState


@dataclass
class Act:
    """An act that is under way: `detail` names operator and action.

    A change that gives a run another state than `turns_to` is only a step towards it; None: any change is the act.
    """

    utc: str
    detail: dict[str, object]
    run: int | None = None
    turns_to: RunState | None = None
    is_stored: bool = False


UNDER_WAY: ContextVar[Act | None] = ContextVar("act", default=None)


def put_on_record(
    connection: sqlite3.Connection,
    state: object = None,
    run: int | None = None,
    **found: object,
) -> None:
    """Store the act under way, if there is one, once; the transaction gives a run `state` and has `found` the rest."""
    act = UNDER_WAY.get()
    if act is None or act.is_stored or act.turns_to not in (None, state):
        return
    append_event(connection, act.utc, run or act.run, "operator", act.detail | found)
    act.is_stored = True
