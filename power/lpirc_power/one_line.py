"""Text from a file or from a stranger, before it reaches a terminal."""

from __future__ import annotations

import unicodedata
from typing import Final

_BLANKS: Final = "\t\n\r"
_ACTING: Final = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Categories of characters that act on a terminal, or turn a line or its direction."""

SHOWN: Final = 40
"""Most characters of a value that a sentence shows."""
TOO_LARGE: Final = "too large a number"


def one_line(text: str) -> str:
    """Return a text that stays on its line: line ends are blanks, and what would act on a terminal is "?"."""
    return text if text.isprintable() else "".join(map(_shown, text))


def shown_value(value: object) -> str:
    """Return a value of any type for a sentence: in ASCII, and not longer than SHOWN characters."""
    try:
        shown = ascii(value)
    except ValueError:  # Python refuses to write a whole number of thousands of digits
        return TOO_LARGE
    return shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}..."


def _shown(character: str) -> str:
    if character in _BLANKS:
        return " "
    return "?" if unicodedata.category(character) in _ACTING else character
