"""How the record and every list of acts name who did an act. Pure."""

from __future__ import annotations

KEY = "key"
COMMAND = "command"
"""In place of an operator's name: the operator key, and a command that wrote to the database itself."""


def doer(operator: object, user: object = None) -> str:
    """Who did an act, as every list says it: eve, key, or `key as eve` where the holder of the key stated a name."""
    return f"{operator} as {user}" if user else str(operator)


def is_reserved(name: str) -> bool:
    """Tell whether an operator of that name would read like the holder of a key, or like a command."""
    words = name.casefold().split()
    return words[:1] in ([KEY], [COMMAND]) and words[1:2] in ([], ["as"])
