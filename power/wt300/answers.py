"""Answers of the WT300 family turned into values (IM WT310-17EN, responses and numeric data)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from power.errors import MeterAnswerError

NEW_DATA: Final = 1 << 0
SHORT: Final = (3, 4)
"""How many letters a shortened word has."""
_SUM_OVER: Final = 1 << 3
_FIRST_FLAG: Final = 6
_FLAGS_AN_ELEMENT: Final = 3
_TRUE: Final = ("1", "ON")
_FALSE: Final = ("0", "OFF")


@dataclass(frozen=True)
class Flags:
    """Which bits of the condition register tell of what is measured: over range, voltage and current peak."""

    over_range: int
    voltage_peak: int
    current_peak: int

    @classmethod
    def of(cls, elements: Sequence[str]) -> Flags:
        """Return the bits of elements: three each from bit 6 on, and for several that of the sum's overflow."""
        firsts = [_FIRST_FLAG + _FLAGS_AN_ELEMENT * (int(element) - 1) for element in elements]
        over, voltage, current = (sum(1 << first + place for first in firsts) for place in range(3))
        return cls(over | (_SUM_OVER if len(elements) > 1 else 0), voltage, current)


def data(answer: str) -> str:
    """Return an answer without the header that it may carry (`:INTEG:MODE NORM`)."""
    plain = answer.strip()
    return plain.partition(" ")[2].strip() if plain.startswith(":") else plain


def value(text: str) -> float:
    """Return a number; NaN for no data and infinity for over range, in whichever form they come."""
    try:
        number = float(text)
    except ValueError:
        raise strange(text, "a number") from None
    if math.isfinite(number) and number >= 9.8e37:
        # FLOAT answers, and tools that copy them, write 9.91E+37 for no data and 9.9E+37 for over range.
        return math.nan if number > 9.905e37 else math.inf
    return number


def boolean(text: str) -> bool:
    """Return whether something is on; the meter says 1 or 0."""
    word = data(text).upper()
    if word not in _TRUE + _FALSE:
        raise strange(text, "0 or 1")
    return word in _TRUE


def register(text: str) -> int:
    """Return the value of a register."""
    try:
        return int(text)
    except ValueError:
        raise strange(text, "a register") from None


def same(answer: str, expected: str) -> bool:
    """Whether an answer says what was set: as a number, as on or off, or as a word, long or short."""
    found, wanted = _comparable(data(answer)), _comparable(expected)
    if found == wanted or _shortened(found, wanted):
        return True
    try:
        return math.isclose(float(found), float(wanted), rel_tol=1e-6)
    except ValueError:
        return False


def largest(numbers: Sequence[float]) -> float:
    """Return the largest of some numbers, whatever their sign; NaN ones are left out, NaN if there is no other."""
    return max((abs(number) for number in numbers if not math.isnan(number)), default=math.nan)


def strange(text: str, wanted: str) -> MeterAnswerError:
    """Return the error about an answer that makes no sense."""
    return MeterAnswerError(f"The meter answered {text!r} where {wanted} should be.", answer=text)


def _shortened(found: str, wanted: str) -> bool:
    # Words are shortened to their first three or four letters, if another client wants them so: LAMB,1 for LAMBDA,1.
    pairs = list(zip(found.split(","), wanted.split(","), strict=False))
    return found.count(",") == wanted.count(",") and all(
        short == long or (len(short) in SHORT and short.isalpha() and long.startswith(short))
        for short, long in pairs
    )


def _comparable(text: str) -> str:
    word = text.replace(" ", "").upper()
    # A meter with the harmonics option names the order behind an item: U,1,TOTAL.
    word = word.removesuffix(",TOTAL").removesuffix(",TOT")
    return {"ON": "1", "OFF": "0"}.get(word, word)
