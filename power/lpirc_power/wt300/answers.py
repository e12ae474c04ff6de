"""Parser of answers of the WT300 family, and explanations of its error codes (IM WT310-17EN)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from lpirc_power.errors import MeterAnswerError

MOST_ERRORS: Final = 100
NEW_DATA: Final = 1 << 0
INTEGRATING: Final = 1 << 1
SHORT: Final = (3, 4)
"""Possible lengths of a shortened word."""
_SUM_OVER: Final = 1 << 3
_FIRST_FLAG: Final = 6
_FLAGS_AN_ELEMENT: Final = 3
_TRUE: Final = ("1", "ON")
_FALSE: Final = ("0", "OFF")
_HEADER: Final = re.compile(r":\S*(\s+|$)|[A-Z][A-Z0-9:]*\s+(?=[^\s,])")
_QUANTITY: Final = re.compile(
    r"([+-]?(?:\d+\.?\d*|\.\d+)(?:E[+-]?\d+)?)([KMU]?)(?:V|A|S|W|HZ)", re.IGNORECASE
)
_MULTIPLIERS: Final = {"": 1.0, "K": 1e3, "M": 1e-3, "U": 1e-6}
_NO_ERROR: Final = re.compile(r"[+-]?0+")
_WORD: Final = re.compile(r"[A-Z][A-Z0-9]*")
_ABBREVIATED: Final = ("AUTO", "A6", "EXT", "EXTERNAL")
"""Words allowed instead of a number: automatic, crest factor 6A, the input of a current sensor."""
_WITHOUT_ELEMENT: Final = ("TIME", "MATH")
"""Functions of the whole meter; a WT310E names them without an element (public log of :NUM:NORM?)."""
# 113, 350, 813, 842, 844 and 845 are of IM WT310-17EN. The other codes below 500 follow IEEE 488.2 and the maker's
# sibling instruments, 843 is inferred from the number that predecessors show: likely, not proven on a WT300.
EXPLANATIONS: Final = {
    102: "it cannot read the command; a character in it may be wrong",
    104: "a value of the command is of the wrong type",
    108: "the command was given more values than it takes",
    109: "the command needs a value that is missing",
    113: "it does not know the command",
    114: "the command names an item or a filter by a number that does not exist",
    120: "a number is expected in the command",
    123: "the exponent of a number is too large",
    131: "it does not know the unit after the number",
    141: "the command does not accept this word",
    221: "this does not go together with another setting; check mode, wiring and what else is switched on",
    222: "the value is out of range",
    350: "its error queue overflowed; later errors are lost",
    410: "a new command came before the last answer was read",
    420: "an answer was read, but no query had been sent",
    813: "this cannot be changed until the integrator is reset",
    842: "the integrator cannot start now: it runs already, or must be reset first",
    843: "the integrator was ended because a value overflowed or the power failed; its energy is not complete",
    844: "the integrator cannot stop: it does not run",
    845: "the integrator cannot be reset while it runs",
}
_BY_HUNDREDS: Final = {
    1: "it does not understand the command",
    2: "it cannot carry out the command",
    4: "queries and answers are out of step",
    8: "it does not accept the command in its present state",
    9: "the meter has an internal fault; switch it off and on, and have it serviced if the error comes back",
}


@dataclass(frozen=True)
class Flags:
    """Bits of the condition register for the measured elements: over range, voltage peak and current peak."""

    over_range: int
    voltage_peak: int
    current_peak: int

    @property
    def mask(self) -> int:
        """All bits together."""
        return self.over_range | self.voltage_peak | self.current_peak

    @property
    def bits(self) -> tuple[int, ...]:
        """The number of every bit, counted from 0."""
        every = self.mask
        return tuple(place for place in range(every.bit_length()) if every >> place & 1)

    @classmethod
    def of(cls, elements: Sequence[str]) -> Flags:
        """Return the bits of the elements: three each from bit 6 on; several elements add the sum's overflow bit."""
        firsts = [
            _FIRST_FLAG + _FLAGS_AN_ELEMENT * (int(element) - 1) for element in elements
        ]
        over = sum(1 << first for first in firsts)
        voltage = sum(1 << first + 1 for first in firsts)
        current = sum(1 << first + 2 for first in firsts)
        if len(elements) > 1:
            over |= _SUM_OVER
        return cls(over, voltage, current)


def data(answer: str) -> str:
    """Return an answer without its header, if any (`:INTEG:MODE NORM`, or `ITEM2 TIME` in a joined answer)."""
    plain = answer.strip()
    return plain[found.end() :] if (found := _HEADER.match(plain)) else plain


def parts(answer: str) -> list[str]:
    """Return the single answers in the joined answer to one message, each without its header."""
    return [data(part) for part in answer.split(";")]


def value(text: str) -> float:
    """Parse a number: NaN for no data and infinity for over range, in any of their notations.

    A unit may follow, with its multiplier; M is milli. A hyphen replaces a range while automatic ranging is choosing
    one.
    """
    plain = data(text)
    number = math.nan if plain and not plain.strip("-") else _number(plain)
    if number is None:
        raise strange(text, "a number")
    if math.isfinite(number) and number >= 9.8e37:
        # FLOAT answers, and tools that copy them, write 9.91E+37 for no data and 9.9E+37 for over range.
        return math.nan if number > 9.905e37 else math.inf
    return number


def boolean(text: str) -> bool:
    """Return True for on and False for off; the meter answers 1 or 0."""
    word = data(text).upper()
    if word not in _TRUE + _FALSE:
        raise strange(text, "0 or 1")
    return word in _TRUE


def register(text: str) -> int:
    """Return the value of a register."""
    try:
        return int(data(text))
    except ValueError:
        raise strange(text, "a register") from None


def same(answer: str, expected: str) -> bool:
    """Return True if an answer equals the expected value: as numbers, as on or off, or as words, long or short.

    A missing element means the first one; functions of the whole meter have none.
    """
    found = _fields(answer)
    wanted = _fields(expected)
    return len(found) == len(wanted) and all(map(_equal, found, wanted))


def understood(answer: str, expected: str) -> bool:
    """Return True if an answer that differs from `expected` is a valid value, False if it has no meaning."""
    found = _fields(answer)
    wanted = _fields(expected)
    if expected.upper() in ("ON", "OFF"):
        return found in (["0"], ["1"])
    if all(_number(field) is not None for field in wanted):
        if found[0] in _ABBREVIATED:
            return True
        return len(found) == len(wanted) and all(
            _number(field) is not None for field in found
        )
    return all(_WORD.fullmatch(field) or field.isdecimal() for field in found)


def largest(numbers: Sequence[float]) -> float:
    """Return the largest absolute value; NaN only if all are NaN."""
    return max(
        (abs(number) for number in numbers if not math.isnan(number)), default=math.nan
    )


def strange(text: str, wanted: str) -> MeterAnswerError:
    """Return the error for an answer that is not what was `wanted`."""
    return MeterAnswerError(f"The meter answered {text!r} where {wanted} should be.")


def _fields(text: str) -> list[str]:
    word = data(text).replace(" ", "").upper()
    # A meter with the harmonics option appends the order to an item: U,1,TOTAL.
    function, *rest = word.removesuffix(",TOTAL").removesuffix(",TOT").split(",")
    if function in _WITHOUT_ELEMENT or (rest == ["1"] and _WORD.fullmatch(function)):
        rest = []
    return [{"ON": "1", "OFF": "0"}.get(field, field) for field in (function, *rest)]


def _equal(found: str, wanted: str) -> bool:
    # If another client has selected short words, they are the first three or four letters: LAMB for LAMBDA.
    short, long = sorted((found, wanted), key=len)
    if short == long or (
        len(short) in SHORT and short.isalpha() and long.startswith(short)
    ):
        return True
    one = _number(found)
    other = _number(wanted)
    return (
        one is not None and other is not None and math.isclose(one, other, rel_tol=1e-6)
    )


def _number(text: str) -> float | None:
    quantity = _QUANTITY.fullmatch(text.replace(" ", ""))
    digits, multiplier = quantity.groups() if quantity else (text, "")
    try:
        return float(digits) * _MULTIPLIERS[multiplier.upper()]
    except ValueError:
        return None


def queued_errors(ask: Callable[[], str]) -> tuple[str, ...]:
    """Return the errors in the meter's queue, each explained; each call of `ask` removes the oldest one."""
    found: list[str] = []
    while len(found) < MOST_ERRORS and is_error(error := ask()):
        found.append(explained(error))
    return tuple(found)


def explained(error: str) -> str:
    """Return an answer to :STATus:ERRor? (`842,"text"`) with its meaning appended."""
    code, _, text = data(error).partition(",")
    shown = f"{code.strip()} {text.strip()}".strip()
    meaning = _meaning(code.strip())
    return f"{shown}: {meaning}" if meaning else shown


def is_error(error: str) -> bool:
    """Return True if an answer to :STATus:ERRor? is an error: its code is not 0, +0 or 000."""
    return _NO_ERROR.fullmatch(data(error).partition(",")[0].strip()) is None


def _meaning(code: str) -> str | None:
    if not code.lstrip("+-").isdecimal():
        return None
    number = abs(int(code))
    return EXPLANATIONS.get(number) or _BY_HUNDREDS.get(number // 100)
