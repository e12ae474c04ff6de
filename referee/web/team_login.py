"""Team log-in: checks the password, limits guessing, and issues the session token."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from referee.auth import tokens
from referee.auth.client_addresses import admits, require_admitted
from referee.auth.guessing import PasswordChecks
from referee.auth.tokens import Session
from referee.errors import LoginRefused
from referee.store.records import Run
from referee.web.app_parts import part
from referee.web.callers import Callers
from referee.web.web_request import present_request


@dataclass(frozen=True)
class TeamLogIns:
    """The app part that counts wrong team passwords; `elsewhere` those from addresses that no station admits."""

    passwords: PasswordChecks = field(default_factory=PasswordChecks)
    elsewhere: PasswordChecks = field(default_factory=PasswordChecks)


def require_password(team: str, password: str) -> None:
    """Raise RefereeError `bad-credentials` unless `password` is the team's, `team-disabled` if it is, of such a team.

    Raises `wrong-address` if no station admits the client, and the errors of `PasswordChecks.require` after too many
    guesses.
    """
    address = _address_of(team)
    if not _is_admitted(address):
        # Teams that may log in must not wait for it.
        require_admitted(part(Callers).contest.config.stations[0], address)
    _require(part(TeamLogIns).passwords, address, team, password)


def require_password_anywhere(team: str, password: str) -> None:
    """Raise the errors of `require_password`, but take a log-in from any address: people do not sit at the board.

    Log-ins from elsewhere are checked apart, so that no board waits for them.
    """
    address = _address_of(team)
    checks = part(TeamLogIns)
    passwords = checks.passwords if _is_admitted(address) else checks.elsewhere
    _require(passwords, address, team, password)


def _address_of(team: str) -> str:
    """Return the client's address, and note who tries to log in."""
    asked = present_request()
    asked.log_in = team
    address: str = asked.environ.get("REMOTE_ADDR", "")
    return address


def _is_admitted(address: str) -> bool:
    stations = part(Callers).contest.config.stations
    return any(admits(one.clients, address) for one in stations)


def _require(passwords: PasswordChecks, address: str, team: str, password: str) -> None:
    callers = part(Callers)
    stored, is_disabled = callers.contest.store.teams.log_in_of(team)
    now_s = callers.clock.monotonic_s()
    passwords.require(address, team, stored, password, now_s)
    if is_disabled:  # told only to who knows the password
        sentence = f"The team {team!r} is disabled; ask the operator to enable it."
        raise LoginRefused("team-disabled", sentence)


def issue_token(callers: Callers, run: Run) -> str:
    """Return the session token of an open run, which stays the same while the run is open."""
    contest = callers.contest
    opened = datetime.fromisoformat(run.opened_utc or run.armed_utc)
    expires_s = opened.timestamp() + tokens.LIFETIME_S
    now_s = callers.clock.utc().timestamp()
    if now_s >= expires_s:
        # The wall clock was set forward, but the run goes on, by the monotonic clock.
        expires_s = now_s + tokens.LIFETIME_S
    session = Session(run.id, run.team, expires_s, run.nonce, contest.epoch)
    return tokens.issue(contest.secret, session, contest.id)
