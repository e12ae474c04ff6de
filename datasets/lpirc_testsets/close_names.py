"""The closest of the known names, for a sentence about a name that is unknown."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LONGEST_NAME = 200
"""Characters of a name that is compared: the time grows with their square."""
LEAST_LIKENESS = 0.75
"""The likeness, from 0 to 1, of a slip to what was meant: one wrong letter of four. Below it, a guess misleads."""


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name of which this one may be a slip, or None.

    Case, "_" for "-", and the dashes of an option do not count; two neighbours that are swapped are a slip of a name
    however short.
    """
    plain = {_plain(one): one for one in known}
    slip = _plain(name[:LONGEST_NAME])
    found = get_close_matches(slip, plain, n=1, cutoff=LEAST_LIKENESS)
    for one in (*found, *(one for one in plain if _are_swapped(slip, one))):
        return plain[one]
    return None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return " Did you mean 'NAME'?" for the closest known name, or "" if none is close."""
    found = closest(name, known)
    return "" if found is None else f" Did you mean {found!r}?"


def _are_swapped(slip: str, name: str) -> bool:
    """Return True if the names differ by two neighbouring characters that are swapped."""
    if len(slip) != len(name):
        return False
    differ = [at for at in range(len(name)) if slip[at] != name[at]]
    if len(differ) != 2 or differ[1] != differ[0] + 1:
        return False
    first, second = differ
    return slip[first] == name[second] and slip[second] == name[first]


def _plain(name: str) -> str:
    return name.casefold().replace("_", "-").lstrip("-")
