"""The closest of the known names, for a sentence about a name that is unknown.

click does the same for commands and options.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LONGEST_NAME = 200
"""Characters of a name that is compared: the time grows with their square."""


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like this one, or None if none is; case and "_" for "-" do not count."""
    plain = {_plain(one): one for one in known}
    found = get_close_matches(_plain(name[:LONGEST_NAME]), plain, n=1)
    return plain[found[0]] if found else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'NAME'?" for the closest known name, or "" if none is close."""
    found = closest(name, known)
    return "" if found is None else f" Did you mean {found!r}?"


def _plain(name: str) -> str:
    return name.casefold().replace("_", "-")
