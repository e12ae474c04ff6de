"""What a name may be, on whichever way it comes in: a contest's, a station's, a team's."""

from __future__ import annotations

LONGEST_NAME = 300
UNADDRESSABLE = (".", "..")
SEPARATORS = ("/", "\\")
MOST_SHOWN = 60


def name_problem(name: str, *, in_address: bool = False) -> str | None:
    """Return what is wrong with a name, as the end of a sentence that begins with the name; None if it is right.

    A name that is `in_address` is a part of addresses and of the names of files.
    """
    if not name.isprintable():
        return "has characters that cannot be printed on a line; remove them"
    if len(name) > LONGEST_NAME:
        return f"has {len(name)} characters; write {LONGEST_NAME} or fewer"
    if in_address and (name in UNADDRESSABLE or any(one in name for one in SEPARATORS)):
        return "has a slash or is nothing but dots, which no address can have; choose another name"
    return None


def shown_name(name: str) -> str:
    """Return a name for a sentence that says what is wrong with it: on one line, and not too long."""
    return repr(name) if len(name) <= MOST_SHOWN else f"{name[:MOST_SHOWN]!r}…"
