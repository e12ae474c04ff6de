"""What a value that was written with its unit is as a plain number, for the sentence that refuses it. Pure."""

from __future__ import annotations

import re
from typing import Final

_GIVEN: Final = re.compile(r"([+-]?\d{1,9}(?:[.,]\d{1,9})?)\s*([A-Za-z\u00b5%]*)")
_PARTS: Final = re.compile(
    r"(?:(\d{1,9})\s*h(?:rs?|ours?)?)?\s*"
    r"(?:(\d{1,9})\s*m(?:in(?:ute)?s?)?)?\s*"
    r"(?:(\d{1,9})\s*s(?:ec(?:ond)?s?)?)?"
)
"""A time in hours, minutes and seconds: 1h30m, 1m30s, 1 min 30 s. Thousandths, ms, are none of these."""
_CLOCK: Final = re.compile(r"(?:(\d{1,3}):)?(\d{1,3}):([0-5]\d)")
_TIMES: Final = {
    "ms": 0.001,
    "s": 1.0,
    "sec": 1.0,
    "seconds": 1.0,
    "m": 60.0,
    "min": 60.0,
    "minutes": 60.0,
    "h": 3600.0,
    "hours": 3600.0,
}
_PREFIXES: Final = {"": 1.0, "m": 1e-3, "u": 1e-6, "\u00b5": 1e-6, "k": 1e3}


def as_plain(text: str, unit: str) -> str:
    """Return "; write 0.5" for "500ms" where the unit is S, and for "0,5"; "" for another text."""
    if unit == "S" and (seconds := _in_parts(text.strip().lower())):
        return f"; write {seconds}"
    found = _GIVEN.fullmatch(text.strip())
    if found is None or (factor := _factor(found[2], unit)) is None:
        return ""
    return f"; write {float(found[1].replace(',', '.')) * factor:.10g}"


def _in_parts(text: str) -> int:
    """Return the seconds of a time in two or three parts, such as 1m30s, or 1:30 for 1 min 30 s; 0 for another text."""
    found = _CLOCK.fullmatch(text) or _PARTS.fullmatch(text)
    if found is None or sum(part is not None for part in found.groups()) < 2:
        return 0
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return hours * 3600 + minutes * 60 + seconds


def _factor(word: str, unit: str) -> float | None:
    if not word or (word, unit) == ("%", "PERCENT"):
        return 1.0
    if unit == "S":
        return _TIMES.get(word.lower())
    if word[-1].upper() == unit:
        return _PREFIXES.get(word[:-1])
    return None
