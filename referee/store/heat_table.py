"""The heats that were made as heats: who made them, when, and of which round they are."""

from __future__ import annotations

from referee.store.acts import Act, put_on_record
from referee.store.database import Database
from referee.store.put_statements import put_by_key
from referee.store.records import Heat

_COLUMNS = ("name", "utc", "operator", "round")
_PUT = put_by_key("heats", _COLUMNS)
_ALL = f"SELECT {', '.join(_COLUMNS)} FROM heats ORDER BY utc, name"  # noqa: S608 - constants


class HeatTable:
    """The heats by name. The runs of a heat name it; a heat that was never made as one has no row."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, heat: Heat, act: Act | None = None) -> None:
        """Store a heat, or replace the one of that name, all of whose runs are void."""
        values = (heat.name, heat.utc, heat.operator, heat.round)
        with self._database.transaction() as connection:
            connection.execute(_PUT, values)
            put_on_record(connection, act)

    def all(self) -> list[Heat]:
        """Return the heats in the order in which they were made."""
        return [Heat(*row) for row in self._database.rows(_ALL)]
