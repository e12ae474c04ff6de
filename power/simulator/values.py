"""Numbers and words as the instrument writes and reads them (IM WT310-17EN, data)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

from power.simulator.refusals import RefusedError

_NUMBER: Final = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:E[+-]?\d+)?)\s*([A-Z]*)")
# M is milli here, not mega: "500MA" is half an ampere. Mega is MA only with a further letter.
_MULTIPLIERS: Final = {"": 1.0, "K": 1e3, "M": 1e-3, "U": 1e-6, "MA": 1e6}


def engineering(value: float, digits: int) -> str:
    """Return an NR3 number with so many digits, its exponent a multiple of three; or NAN, INF."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INF"
    mantissa, exponent = f"{value:.{digits - 1}E}".split("E")
    shift = int(exponent) % 3
    scaled = float(mantissa) * 10**shift
    return f"{scaled:.{digits - 1 - shift}f}E{int(exponent) - shift:+03d}"


def plain(value: float, decimals: int) -> str:
    """Return a setting's NR3 number: `300.0E+00`, `20.000E+00`, or `500.0E-03` below one."""
    if 0 < abs(value) < 1:
        return f"{value * 1e3:.1f}E-03"
    return f"{value:.{decimals}f}E+00"


def number(text: str, unit: str = "") -> float:
    """Return the value of `150V`, `500MA`, `100MS` or `0.5`, where `unit` is the letter that may follow.

    Raises RefusedError 120 for what is no number, 131 for a unit that does not belong.
    """
    matched = _NUMBER.fullmatch(text.strip().upper())
    if not matched:
        raise RefusedError(120)
    digits, suffix = matched.groups()
    if not suffix:
        return float(digits)
    multiplier = suffix.removesuffix(unit) if unit and suffix.endswith(unit) else None
    if multiplier not in _MULTIPLIERS:
        raise RefusedError(131)
    return float(digits) * _MULTIPLIERS[multiplier]


def integer(text: str, lowest: int, highest: int) -> int:
    """Return a whole number within its bounds; RefusedError 120 or 222 otherwise."""
    value = number(text)
    if value != int(value):
        raise RefusedError(120)
    if not lowest <= value <= highest:
        raise RefusedError(222)
    return int(value)


def boolean(text: str) -> bool:
    """Return the truth of ON, OFF or a number; RefusedError 141 for another word."""
    word = text.strip().upper()
    if word in ("ON", "OFF"):
        return word == "ON"
    try:
        return number(word) != 0
    except RefusedError:
        raise RefusedError(141) from None


def short_form(word: str) -> str:
    """Return the capitals of a word spelled like `RESet`: its short form."""
    return "".join(letter for letter in word if not letter.islower())


def spelled(word: str, verbose: bool) -> str:
    """Return `RESet` as RESET or RES."""
    return word.upper() if verbose else short_form(word)


def choice(text: str, words: Sequence[str]) -> str:
    """Return the one of `words`, spelled like `RESet`, that the text names; else RefusedError 141."""
    wanted = text.strip().upper()
    for word in words:
        if wanted in (word.upper(), short_form(word)):
            return word
    raise RefusedError(141)
