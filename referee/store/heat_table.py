"""The heats that were made as heats: who made them, when, and of which round they are."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from referee.store.acts import Act, put_on_record
from referee.store.database import Database
from referee.store.put_statements import put_by_key
from referee.store.records import Heat, Run
from referee.store.run_table import insert_armed

_COLUMNS = ("name", "utc", "operator", "round")
_PUT = put_by_key("heats", _COLUMNS)
_ALL = f"SELECT {', '.join(_COLUMNS)} FROM heats ORDER BY utc, name"  # noqa: S608 - constants


class ArmedSide(NamedTuple):
    """A new run of a heat with its image order, and the act that arms it; see `RunTable.arm`."""

    run: Run
    order: NDArray[np.int64]
    act: Act


class HeatTable:
    """The heats by name. The runs of a heat name it; a heat that was never made as one has no row."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, heat: Heat, act: Act | None = None) -> None:
        """Store a heat, or replace the one of that name, all of whose runs are void."""
        with self._database.transaction() as connection:
            _put(connection, heat, act)

    def make(
        self, heat: Heat, sides: Sequence[ArmedSide], now: datetime, act: Act
    ) -> list[Run]:
        """Store a heat as `put` does, and its armed runs with it; return the runs with their numbers."""
        with self._database.transaction() as connection:
            armed = []
            for side in sides:
                run = insert_armed(connection, side.run, now, side.order)
                put_on_record(connection, side.act, run=run.id)
                armed.append(run)
            _put(connection, heat, act)
        return armed

    def all(self) -> list[Heat]:
        """Return the heats in the order in which they were made."""
        return [Heat(*row) for row in self._database.rows(_ALL)]


def _put(connection: sqlite3.Connection, heat: Heat, act: Act | None) -> None:
    connection.execute(_PUT, (heat.name, heat.utc, heat.operator, heat.round))
    put_on_record(connection, act)
