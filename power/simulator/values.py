"""Numbers and words as the instrument writes and reads them (IM WT310E-17EN, data)."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from typing import Final

from power.simulator.refusals import RefusedError

_NUMBER: Final = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:E[+-]?\d+)?)\s*([A-Z]*)", re.ASCII)
_BASES: Final = {"H": 16, "Q": 8, "B": 2}
# M is milli here, not mega: "500MA" is half an ampere, "500MAA" five hundred million.
_MULTIPLIERS: Final = {
    "": 1.0,
    "EX": 1e18,
    "PE": 1e15,
    "T": 1e12,
    "G": 1e9,
    "MA": 1e6,
    "K": 1e3,
    "M": 1e-3,
    "U": 1e-6,
    "N": 1e-9,
    "P": 1e-12,
    "F": 1e-15,
}
_LONGEST_NUMBER: Final = 255


@functools.lru_cache(maxsize=4096)
def engineering(value: float, digits: int) -> str:
    """Return an NR3 number with so many digits, its exponent a multiple of three; or NAN, INF."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INF"
    mantissa, exponent = f"{value + 0.0:.{digits - 1}E}".split("E")
    shift = int(exponent) % 3
    scaled = float(mantissa) * 10**shift
    return f"{scaled:.{digits - 1 - shift}f}E{int(exponent) - shift:+03d}"


def plain(value: float, decimals: int) -> str:
    """Return a setting's NR3 number: `300.0E+00`, `20.000E+00`, or `500.0E-03` below one."""
    if 0 < abs(value) < 1:
        return f"{value * 1e3:.1f}E-03"
    return f"{value:.{decimals}f}E+00"


def number(text: str, unit: str = "") -> float:
    """Return the value of `150V`, `500MA`, `100MS`, `2K` or `0.5`, where `unit` is the letter that may follow.

    Raises RefusedError 120 for what is no number, 123 for one beyond all bounds, 131 for a unit that does not
    belong.
    """
    matched = _NUMBER.fullmatch(text.strip().upper())
    if not matched or len(text) > _LONGEST_NUMBER:
        raise RefusedError(120)
    digits, suffix = matched.groups()
    value = float(digits) * _multiplier(suffix, unit)
    if math.isinf(value):
        raise RefusedError(123)
    return value


def _multiplier(suffix: str, unit: str) -> float:
    if not suffix:
        return 1.0
    if not unit:
        raise RefusedError(131)
    found = _MULTIPLIERS.get(suffix.removesuffix(unit), None) if suffix.endswith(unit) else None
    found = _MULTIPLIERS.get(suffix) if found is None else found
    if found is None:
        raise RefusedError(131)
    return found


def integer(text: str, lowest: int, highest: int) -> int:
    """Return a whole number within its bounds; RefusedError 120, 123, 131 or 222 otherwise."""
    value = number(text)
    if value != int(value):
        raise RefusedError(120)
    if not lowest <= value <= highest:
        raise RefusedError(222)
    return int(value)


def register(text: str, highest: int) -> int:
    """Return the value of a register: a decimal number, or `#H0F`, `#Q17`, `#B1111`."""
    word = text.strip().upper()
    if not word.startswith("#"):
        return integer(word, 0, highest)
    base = _BASES.get(word[1:2])
    if base is None or not word[2:].isalnum() or not word.isascii() or len(word) > _LONGEST_NUMBER:
        raise RefusedError(120)
    try:
        value = int(word[2:], base)
    except ValueError:
        raise RefusedError(120) from None
    if value > highest:
        raise RefusedError(222)
    return value


def boolean(text: str) -> bool:
    """Return the truth of ON, OFF or a number, which is off if it rounds to zero; else RefusedError 141."""
    word = text.strip().upper()
    if word in ("ON", "OFF"):
        return word == "ON"
    try:
        return round(number(word)) != 0
    except RefusedError:
        raise RefusedError(141) from None


@functools.lru_cache(maxsize=512)
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
