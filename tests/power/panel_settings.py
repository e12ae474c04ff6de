"""The settings of a meter, as another client sees them."""

from __future__ import annotations

from collections.abc import Sequence

AUTOMATIC = "automatic"


def without_automatic_ranges(answers: Sequence[str]) -> list[str]:
    """Return answers about the ranges of voltage and current, each with AUTO behind it; others may follow.

    A meter moves its automatic ranges by itself, so their present values are no settings: a simulated one leaves its
    largest range with its first update.
    """
    found = [*answers]
    for place in (0, 2):
        if found[place + 1].strip().endswith(("1", "ON")):
            found[place] = AUTOMATIC
    return found
