"""Operator names as they are recorded and shown in every list of actions. Pure."""

from __future__ import annotations

KEY = "key"
COMMAND = "command"
"""Name shown if nobody is named: for the operator key, and for a command that wrote to the database directly."""


def doer(operator: object, user: object = None) -> str:
    """Return who did an act, as every list shows it: eve, key, or `key as eve` if the key's holder gave a name."""
    return f"{operator} as {user}" if user else str(operator)


def is_reserved(name: str) -> bool:
    """Return True if an operator of that name could be mistaken for a holder of the key or for a command."""
    words = name.casefold().split()
    return words[:1] in ([KEY], [COMMAND]) and words[1:2] in ([], ["as"])
