"""What a value that was written with its unit is as a plain number, for the sentence that refuses it. Pure."""

from __future__ import annotations

import re
from typing import Final

_GIVEN: Final = re.compile(r"([+-]?\d{1,9}(?:[.,]\d{1,9})?)\s*([A-Za-z\u00b5%]*)")
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
    """Return "; write 0.5" for "500ms" where the unit is S, for "0,5", and alike; "" for another text."""
    found = _GIVEN.fullmatch(text.strip())
    if found is None or (factor := _factor(found[2], unit)) is None:
        return ""
    return f"; write {float(found[1].replace(',', '.')) * factor:.10g}"


def _factor(word: str, unit: str) -> float | None:
    if not word or (word, unit) == ("%", "PERCENT"):
        return 1.0
    if unit == "S":
        return _TIMES.get(word.lower())
    if word[-1].upper() == unit:
        return _PREFIXES.get(word[:-1])
    return None
