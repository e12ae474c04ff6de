"""The operators of a contest and their sessions."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from referee.errors import RefereeError
from referee.store.acts import Act, put_on_record
from referee.store.database import Database
from referee.store.schema import insert

_GENERATION = "SELECT generation FROM operator_sessions WHERE operator = ?"
_END_SESSIONS = "DELETE FROM operator_sessions WHERE operator = ?"
END_ALL_SESSIONS = ("DELETE FROM operator_sessions", "DELETE FROM team_sessions")
"""Statements for a database that does not show every log-out."""


class OperatorTable:
    """Operators, and the generation of sessions that is valid for each operator.

    Changes are on disk before the answer.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self, name: str, password_hash: str, now: datetime, act: Act | None = None
    ) -> None:
        """Register an operator. Raises RefereeError `operator-exists`."""
        values = {
            "name": name,
            "password_hash": password_hash,
            "created_utc": now.isoformat(),
        }
        try:
            with self._database.transaction() as connection:
                connection.execute(insert("operators"), values)
                put_on_record(connection, act)
        except sqlite3.IntegrityError:
            raise RefereeError(
                "operator-exists",
                f"Operator {name!r} already exists; to change the password, remove the operator first.",
            ) from None

    def remove(self, name: str, act: Act | None = None) -> None:
        """Remove an operator and end the operator's sessions. Raises RefereeError `operator-unknown`."""
        with self._database.transaction() as connection:
            if not connection.execute(
                "DELETE FROM operators WHERE name = ?", (name,)
            ).rowcount:
                raise RefereeError(
                    "operator-unknown",
                    f"There is no operator {name!r}; see: referee operator list",
                )
            connection.execute(_END_SESSIONS, (name,))
            put_on_record(connection, act)

    def password_hashes(self) -> dict[str, str]:
        """Return the password hash of every operator, by name."""
        rows = self._database.rows(
            "SELECT name, password_hash FROM operators ORDER BY name"
        )
        return {row["name"]: row["password_hash"] for row in rows}

    def begin_session(self, operator: str, drawn: str, act: Act | None = None) -> str:
        """Return the mark that an operator's valid sessions carry (their generation).

        If there is none, the random `drawn` becomes that mark.
        """
        with self._database.transaction() as connection:
            values = {"operator": operator, "generation": drawn}
            sql = insert("operator_sessions", "INSERT OR IGNORE")
            connection.execute(sql, values)
            put_on_record(connection, act)
            found = connection.execute(_GENERATION, (operator,))
            return str(found.fetchone()[0])

    def session_generation(self, operator: str) -> str | None:
        """Return the generation that an operator's valid sessions carry, or None if no session is valid."""
        rows = self._database.rows(_GENERATION, operator)
        return rows[0]["generation"] if rows else None

    def end_sessions(self, operator: str, act: Act | None = None) -> None:
        """End all sessions of an operator for good: their generation never becomes valid again."""
        with self._database.transaction() as connection:
            connection.execute(_END_SESSIONS, (operator,))
            put_on_record(connection, act)

    def end_all_sessions(self) -> None:
        """End the sessions of all operators and teams.

        Called for a copied database, which does not show later log-outs.
        """
        with self._database.transaction() as connection:
            for statement in END_ALL_SESSIONS:
                connection.execute(statement)
