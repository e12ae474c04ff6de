"""Names of operators, as the record and every list of acts shows them. Pure."""

from __future__ import annotations

KEY = "key"
COMMAND = "command"
"""Shown in place of an operator's name for the operator key, and for a command that wrote to the database itself."""


def doer(operator: object, user: object = None) -> str:
    """Return who did an act, in the form of every list: eve, key, or `key as eve` if the key's holder gave a name."""
    return f"{operator} as {user}" if user else str(operator)


def is_reserved(name: str) -> bool:
    """Tell whether an operator of that name would read like the holder of a key, or like a command."""
    words = name.casefold().split()
    return words[:1] in ([KEY], [COMMAND]) and words[1:2] in ([], ["as"])
