"""Parser of program messages: units, the path rule of headers, and header patterns (IM WT310E-17EN)."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

TEXTS: Final[dict[int, str]] = {
    0: "No error",
    102: "Syntax error",
    104: "Data type error",
    108: "Parameter not allowed",
    109: "Missing parameter",
    113: "Undefined header",
    114: "Header suffix out of range",
    120: "Numeric data error",
    123: "Exponent too large",
    131: "Invalid suffix",
    141: "Invalid character data",
    222: "Data out of range",
    350: "Queue overflow",
    410: "Query interrupted",
    420: "Query unterminated",
    813: "Invalid operation while integrating",
    842: "Attempted to start integration while in progress",
    844: "Attempted to stop integration while not in progress",
    845: "Attempted to reset integration while in progress",
}


class RefusedError(Exception):
    """Refusal by the instrument: `code` goes to its error queue, and the rest of the message is dropped."""

    def __init__(self, code: int) -> None:
        super().__init__(f"{code} {TEXTS[code]}")
        self.code = code


_NUMBER: Final = re.compile(
    r"([+-]?(?:\d+\.?\d*|\.\d+)(?:E[+-]?\d+)?)\s*([A-Z]*)", re.ASCII
)
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
    """Return an NR3 number with the given digits and an exponent that is a multiple of three; or NAN, INF."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INF"
    mantissa, exponent = f"{value + 0.0:.{digits - 1}E}".split("E")
    shift = int(exponent) % 3
    scaled = float(mantissa) * 10**shift
    return f"{scaled:.{digits - 1 - shift}f}E{int(exponent) - shift:+03d}"


def plain(value: float, decimals: int) -> str:
    """Return a setting's value as NR3: `300.0E+00`, `20.000E+00`, or `500.0E-03` if below one."""
    if 0 < abs(value) < 1:
        return f"{value * 1e3:.1f}E-03"
    return f"{value:.{decimals}f}E+00"


def number(text: str, unit: str = "") -> float:
    """Parse `150V`, `500MA`, `100MS`, `2K` or `0.5`; `unit` is the unit letter that may follow.

    Raises RefusedError 120 if it is not a number, 123 if it is too large, 131 if the unit is wrong.
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
    found = (
        _MULTIPLIERS.get(suffix.removesuffix(unit), None)
        if suffix.endswith(unit)
        else None
    )
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
    if (
        base is None
        or not word[2:].isalnum()
        or not word.isascii()
        or len(word) > _LONGEST_NUMBER
    ):
        raise RefusedError(120)
    try:
        value = int(word[2:], base)
    except ValueError:
        raise RefusedError(120) from None
    if value > highest:
        raise RefusedError(222)
    return value


def boolean(text: str) -> bool:
    """Parse ON, OFF, or a number, which means off if it rounds to zero; RefusedError 141 for anything else."""
    word = text.strip().upper()
    if word in ("ON", "OFF"):
        return word == "ON"
    try:
        return round(number(word)) != 0
    except RefusedError:
        raise RefusedError(141) from None


@functools.lru_cache(maxsize=512)
def short_form(word: str) -> str:
    """Return the short form of a word spelled like `RESet`: its capitals."""
    return "".join(letter for letter in word if not letter.islower())


def spelled(word: str, verbose: bool) -> str:
    """Return a word such as `RESet` in its long form RESET if `verbose`, else in its short form RES."""
    return word.upper() if verbose else short_form(word)


def choice(text: str, words: Sequence[str]) -> str:
    """Return the one of `words` (spelled like `RESet`) that the text names; RefusedError 141 if it names none."""
    wanted = text.strip().upper()
    for word in words:
        if wanted in (word.upper(), short_form(word)):
            return word
    raise RefusedError(141)


_HEADER: Final = re.compile(r"\*[A-Z]+|:?[A-Z][A-Z0-9]*(:[A-Z][A-Z0-9]*)*")


@dataclass(frozen=True)
class Unit:
    """Unit of a program message: header in capitals with a leading colon or star, whether it is a query, and data."""

    header: str
    query: bool
    data: tuple[str, ...]


def units(message: str) -> list[str]:
    """Return the units of a message, without empty ones."""
    return [unit.strip() for unit in message.split(";") if unit.strip()]


def parse_unit(text: str, path: str) -> tuple[Unit, str]:
    """Parse a unit; return it and the path for the next one.

    A header with a leading colon starts at the root. A header without one starts at `path`, where the previous header
    ended; a common command (`*IDN?`) does not change the path. RefusedError 102 if there is no header.
    """
    head, *rest = text.split(None, 1)
    tail = rest[0] if rest else ""
    query = head.endswith("?")
    header = head.removesuffix("?").upper()
    if not head.isascii() or not _HEADER.fullmatch(header):
        raise RefusedError(102)
    data = tuple(part.strip() for part in tail.split(",")) if tail.strip() else ()
    if header.startswith("*"):
        return Unit(header, query, data), path
    full = header if header.startswith(":") else f"{path}:{header}"
    return Unit(full, query, data), full.rpartition(":")[0]


@dataclass(frozen=True)
class Pattern:
    """Header as printed in manuals: `[:INPut]:VOLTage:RANGe`, `:NUMeric[:NORMal]:ITEM<n>`, `*IDN`."""

    text: str

    def compiled(self) -> re.Pattern[str]:
        """Return a regex for the header in capitals, in short and long forms; a group holds the number `<n>`."""
        if self.text.startswith("*"):
            return re.compile(re.escape(self.text))
        return _pattern_of(self._nodes())

    def groups(self) -> list[re.Pattern[str]]:
        """Return a regex for each group that contains the command, that is, for its leading nodes."""
        nodes = self._nodes()
        return [_pattern_of(nodes[:count]) for count in range(1, len(nodes))]

    def spelled(self, verbose: bool, suffix: int | None, brief: bool = False) -> str:
        """Return the header as it appears in an answer, with all nodes; `brief` omits optional ones within."""
        nodes: list[str] = []
        for name, numbered, optional in self._nodes():
            if not (optional and ((numbered and suffix is None) or (brief and nodes))):
                nodes.append(f":{spelled(name, verbose)}{suffix if numbered else ''}")
        return "".join(nodes)

    def _nodes(self) -> list[tuple[str, bool, bool]]:
        found = re.findall(r"(\[?):([A-Za-z]+)(<n>)?", self.text)
        return [
            (name, bool(numbered), bool(optional)) for optional, name, numbered in found
        ]


def _pattern_of(nodes: Sequence[tuple[str, bool, bool]]) -> re.Pattern[str]:
    return re.compile("".join(_node(*node) for node in nodes))


def _node(name: str, numbered: bool, optional: bool) -> str:
    words = f":(?:{name.upper()}|{short_form(name)})"
    if numbered:
        words += r"(\d{1,9})"
    return f"(?:{words})?" if optional else words
