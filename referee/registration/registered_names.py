"""The names that a team and an operator may have, and how long an operator's password must be."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from referee.auth.operator_names import is_reserved
from referee.config.name_rule import name_problem, shown_name
from referee.errors import RefereeError

LONGEST_NAME = 60
"""Longest name of an operator."""
SHORTEST_PASSWORD = 8
"""Characters of the shortest password of an operator."""


def team_problem(
    team: str, affiliation: str | None, present: Iterable[str]
) -> str | None:
    """Return what is wrong with a new team as a clause; None if it may be registered beside those `present`."""
    if not team.strip():
        of = f" ({affiliation!r})" if affiliation else ""
        return f"the team's name is blank{of}; write a name"
    if team != team.strip():
        return f"{team!r} begins or ends with a blank; leave it out"
    for name in (team, affiliation or ""):
        if odd := name_problem(name):
            return f"{shown_name(name)} {odd}"
    same = next((one for one in present if folded(one) == folded(team)), team)
    if same == team:
        return None
    if same.casefold() == team.casefold():
        return f"{team!r} differs from {same!r} only in capitals; change one of them"
    return f"{team!r} looks like {same!r}; change one of them"


def folded(name: str) -> str:
    """Return a name in the form in which names that look alike are equal."""
    return unicodedata.normalize("NFKC", name).casefold()


def require_new_team(
    team: str, affiliation: str | None, present: Iterable[str]
) -> None:
    """Raise RefereeError `team-name` unless a team may be registered beside those `present`."""
    problem = team_problem(team, affiliation, present)
    if problem is not None:
        raise RefereeError("team-name", f"{problem[:1].upper()}{problem[1:]}.")


def require_operator_name(name: str) -> None:
    """Raise RefereeError `operator-name` if a name is blank, long, unprintable, or could be taken for the key."""
    if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        sentence = f"An operator's name has 1 to {LONGEST_NAME} printable characters."
        raise RefereeError("operator-name", sentence)
    if is_reserved(name):
        sentence = f"The log uses the name {name.strip()!r} for the operator key or a command; choose another name."
        raise RefereeError("operator-name", sentence)


def require_password(password: str) -> None:
    """Raise RefereeError `password-short` unless a password is long enough for a hall full of guessers."""
    if len(password) < SHORTEST_PASSWORD:
        sentence = f"The password has {len(password)} characters; choose one of {SHORTEST_PASSWORD} or more."
        raise RefereeError("password-short", sentence)
