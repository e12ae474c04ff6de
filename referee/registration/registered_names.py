"""The names that a team and an operator may have."""

from __future__ import annotations

from referee.auth.operator_names import is_reserved
from referee.errors import RefereeError

LONGEST_NAME = 60
"""Longest name of an operator."""


def require_team_name(name: str) -> None:
    """Raise RefereeError `team-name` if a name is blank or cannot be printed on one line."""
    if not name.strip() or not name.isprintable():
        raise RefereeError(
            "team-name",
            "A team needs a name that is not blank and can be printed on a line.",
        )


def require_operator_name(name: str) -> None:
    """Raise RefereeError `operator-name` if a name is blank, long, unprintable, or could be taken for the key."""
    if not name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        sentence = f"An operator's name has 1 to {LONGEST_NAME} printable characters."
        raise RefereeError("operator-name", sentence)
    if is_reserved(name):
        sentence = f"The log uses the name {name.strip()!r} for the operator key or a command; choose another name."
        raise RefereeError("operator-name", sentence)
