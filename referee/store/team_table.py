"""The teams of a contest."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from datetime import datetime, timedelta

from lpirc_testsets.close_names import did_you_mean
from referee.errors import RefereeError
from referee.store.acts import Act, put_on_record
from referee.store.database import Database
from referee.store.schema import insert

SESSION_LIFETIME = timedelta(hours=12)
MOST_SESSIONS = 100
"""Number of valid sessions of a team; a further log-in ends the oldest one."""
_SESSION = (
    "SELECT 1 FROM team_sessions WHERE session = ? AND team = ? AND expires_utc > ?"
)
_END_SESSION = "DELETE FROM team_sessions WHERE session = ?"
_END_SESSIONS = "DELETE FROM team_sessions WHERE team = ?"
_FORGET_SESSIONS = (
    "DELETE FROM team_sessions WHERE expires_utc <= ? OR session IN (SELECT session FROM team_sessions"
    " WHERE team = ? ORDER BY expires_utc DESC LIMIT -1 OFFSET ?)"
)


class TeamTable:
    """The teams with their passwords, affiliations and sessions, and whether each is disabled."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self,
        name: str,
        password_hash: str,
        now: datetime,
        affiliation: str | None = None,
        act: Act | None = None,
    ) -> None:
        """Register a team. Raises RefereeError `team-exists`."""
        self.add_all({name: (password_hash, affiliation)}, now, act)

    def add_all(
        self,
        teams: Mapping[str, tuple[str, str | None]],
        now: datetime,
        act: Act | None = None,
    ) -> None:
        """Register teams, given as (password hash, affiliation) by name: all or none.

        Raises RefereeError `team-exists`.
        """
        common = {"disabled": 0, "created_utc": now.isoformat()}
        with self._database.transaction() as connection:
            for name, (password_hash, affiliation) in teams.items():
                team = {
                    "name": name,
                    "password_hash": password_hash,
                    "affiliation": affiliation,
                }
                try:
                    connection.execute(insert("teams"), team | common)
                except sqlite3.IntegrityError:
                    raise RefereeError(
                        "team-exists",
                        f"The team {name!r} exists already; for a new password: referee team password NAME",
                    ) from None
            put_on_record(connection, act)

    def password_hash(self, team: str) -> str | None:
        """Return the password hash of a team, or None if it is unknown or disabled."""
        password_hash, is_disabled = self.log_in_of(team)
        return None if is_disabled else password_hash

    def log_in_of(self, team: str) -> tuple[str | None, bool]:
        """Return the password hash of a team, None if it is unknown, and whether the team is disabled."""
        sql = "SELECT password_hash, disabled FROM teams WHERE name = ?"
        try:
            rows = self._database.rows(sql, team)
        except (
            UnicodeEncodeError
        ):  # JSON can name half of a surrogate pair, UTF-8 cannot
            return None, False
        if not rows:
            return None, False
        return str(rows[0]["password_hash"]), bool(rows[0]["disabled"])

    def all(self) -> dict[str, bool]:
        """Return all teams by name; the value is True if the team is disabled."""
        return {
            row["name"]: bool(row["disabled"])
            for row in self._database.rows("SELECT * FROM teams ORDER BY name")
        }

    def set_disabled(self, name: str, disabled: bool, act: Act | None = None) -> None:
        """Disable or enable a team, and end its sessions; a disabled one can neither log in nor run.

        Raises RefereeError `team-unknown`.
        """
        self._change(
            name, "UPDATE teams SET disabled = ? WHERE name = ?", int(disabled), act
        )

    def set_password(
        self, team: str, password_hash: str, act: Act | None = None
    ) -> None:
        """Replace the password of a team, disabled or not, and end its sessions. Raises RefereeError `team-unknown`."""
        self._change(
            team,
            "UPDATE teams SET password_hash = ? WHERE name = ?",
            password_hash,
            act,
        )

    def _change(self, name: str, sql: str, value: object, act: Act | None) -> None:
        with self._database.transaction() as connection:
            if not connection.execute(sql, (value, name)).rowcount:
                self.require(name)
            connection.execute(_END_SESSIONS, (name,))
            put_on_record(connection, act)

    def require(self, name: str) -> None:
        """Raise RefereeError `team-unknown` unless the team is registered and enabled."""
        teams = self.all()
        is_disabled = teams.get(name)
        if is_disabled is None:
            raise RefereeError(
                "team-unknown",
                f"There is no team {name!r}; see: referee team list.{did_you_mean(name, teams)}",
            )
        if is_disabled:
            raise RefereeError(
                "team-unknown",
                f"The team {name!r} is disabled; see: referee team enable --help",
            )

    def begin_session(self, team: str, session: str, expires: datetime) -> None:
        """Store the random mark of a new session, valid until `expires`, UTC; sessions that expired are removed."""
        began_utc = (expires - SESSION_LIFETIME).isoformat()
        values = {
            "session": session,
            "team": team,
            "expires_utc": expires.isoformat(),
        }
        with self._database.transaction() as connection:
            connection.execute(_FORGET_SESSIONS, (began_utc, team, MOST_SESSIONS - 1))
            connection.execute(insert("team_sessions"), values)

    def has_session(self, team: str, session: str, now: datetime) -> bool:
        """Return True if the session is one of the team's and valid at `now`, UTC."""
        return bool(self._database.rows(_SESSION, session, team, now.isoformat()))

    def end_session(self, session: str) -> None:
        """End a session for good: no copy of its cookie is valid afterwards."""
        with self._database.transaction() as connection:
            connection.execute(_END_SESSION, (session,))

    def affiliations(self) -> dict[str, str | None]:
        """Return the affiliation of every team."""
        return {
            row["name"]: row["affiliation"]
            for row in self._database.rows("SELECT name, affiliation FROM teams")
        }
