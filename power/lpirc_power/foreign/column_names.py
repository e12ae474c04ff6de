"""Recognizes the heads of columns in other programs' recordings, with their units. Pure.

The names are those that public programs write: yoko-tool (T, P, V, I, S, Lambda, Wh, J), SPEC PTDaemon and MLPerf Power
logs (Time, Watts, Volts, Amps, PF, Mark), nvidia-smi (timestamp, power.draw [W]), and common ones of data loggers.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lpirc_power.errors import MeterError
from lpirc_power.listed import listed

UNITS: Final[Mapping[str, Mapping[str, float]]] = {
    "power": {"w": 1.0, "mw": 1e-3, "uw": 1e-6, "kw": 1e3},
    "voltage": {"v": 1.0, "mv": 1e-3, "uv": 1e-6, "kv": 1e3},
    "current": {"a": 1.0, "ma": 1e-3, "ua": 1e-6, "na": 1e-9},
    "apparent": {"va": 1.0, "mva": 1e-3, "kva": 1e3},
    "factor": {},
    "energy": {
        "wh": 1.0, "mwh": 1e-3, "uwh": 1e-6, "kwh": 1e3,
        "j": 1 / 3600, "ws": 1 / 3600, "mj": 1e-3 / 3600, "uj": 1e-6 / 3600, "kj": 1e3 / 3600,
    },
    "counted": {"s": 1.0, "ms": 1e-3, "min": 60.0, "h": 3600.0},
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0},
    "date": {},
    "millisecond": {},
    "mark": {},
}  # fmt: skip
"""Quantities that a column may have, and the size of its units in W, V, A, VA, Wh or s."""
_LONG_UNITS: Final = {
    "watt": "w", "watts": "w", "milliwatt": "mw", "milliwatts": "mw", "kilowatts": "kw",
    "volt": "v", "volts": "v", "millivolts": "mv",
    "amp": "a", "amps": "a", "ampere": "a", "amperes": "a", "milliamps": "ma",
    "joule": "j", "joules": "j", "watthours": "wh",
    "sec": "s", "secs": "s", "second": "s", "seconds": "s", "milliseconds": "ms", "millis": "ms",
    "microseconds": "us", "nanoseconds": "ns", "minutes": "min", "hours": "h",
}  # fmt: skip
_NAMES: Final[Mapping[str, Sequence[str]]] = {
    "power": (
        "p", "power", "active power", "real power", "p active", "power draw", "power draw average",
        "power draw instant", "total power", "average power", "avg power", "mean power", "pwr", "wattage",
        "input power", "system power", "board power", "p1", "p 1", "p e1", "leistung", "wirkleistung",
        "apower", "power total", "active power total", "total active power", "main power", "main avg power",
        "vdd in", "pom 5v in", "current power",
    ),
    "voltage": (
        "v", "u", "voltage", "vrms", "urms", "v rms", "u rms", "bus voltage", "input voltage", "u1", "u 1", "u e1",
        "urms 1", "spannung", "main voltage", "main avg voltage",
    ),
    "current": (
        "i", "current", "irms", "i rms", "input current", "i1", "i 1", "i e1", "irms 1", "strom",
        "main current", "main avg current",
    ),
    "apparent": ("apparent power", "apparent", "s1", "s e1", "s 1", "scheinleistung"),
    "factor": (
        "pf", "power factor", "lambda", "lambda e1", "lambda 1", "cos phi", "cosphi", "leistungsfaktor",
        "\N{GREEK SMALL LETTER LAMDA}",
    ),
    "energy": (
        "energy", "total energy", "accumulated energy", "energy total", "wp", "e", "watt hours", "total", "wh e1",
        "wh 1", "main energy",
    ),
    "counted": ("integrator", "integration time", "integration", "itime"),
    "time": (
        "t", "time", "timestamp", "time stamp", "datetime", "date time", "utc", "utc time", "elapsed",
        "elapsed time", "monotonic", "unix time", "unixtime", "unix timestamp", "epoch", "epoch time", "ts",
        "relative time", "time utc", "local time", "run time", "runtime", "zeit", "zeitstempel",
        "last changed", "last updated", "uhrzeit", "datum uhrzeit", "datum zeit", "zeitpunkt", "messzeit",
    ),
    "date": ("date", "day", "datum"),
    "millisecond": ("millisecond", "msec"),
    "mark": ("mark", "marker", "label", "phase"),
}  # fmt: skip
_CASED: Final = {"S": ("apparent", 1.0), "s": ("time", 1.0), "T": ("time", None), "A": ("current", 1.0)}  # fmt: skip
"""Heads whose meaning depends on their case."""
UNIT_HEADS: Final = ("s", "A")
"""Those of them that are units."""
TAKEN_BY_UNIT: Final = ("energy", "voltage", "current")
"""Quantities that a unit alone suggests: of a power there would be two, and many columns have seconds."""
_BRACKETS: Final = re.compile(r"[\[(]")
_AMBIGUOUS: Final = ("MW", "MWh", "MJ", "MVA")


@dataclass(frozen=True)
class Column:
    """A column that is used: its place from 0, its head, its quantity, and the size of its unit.

    `size` is None for a unit that must be stated; one that is taken as usual, as W for a power, is not `is_stated`.
    """

    place: int
    head: str
    quantity: str
    size: float | None = None
    is_stated: bool = True


def recognized(place: int, head: str) -> Column | None:
    """Return the column of a head, or None if its name or its unit is unknown."""
    text = head.strip().strip('"').strip()
    if text in _CASED:
        quantity, size = _CASED[text]
        return Column(place, text, quantity, size, is_stated=text in UNIT_HEADS)
    name, unit = _parted(text)
    if name in _NAMES["factor"]:
        return Column(place, text, "factor", 1.0)
    for quantity, names in _NAMES.items():
        if name in names:
            return _with_unit(place, text, quantity, unit)
    return None


def _with_unit(place: int, head: str, quantity: str, unit: str) -> Column | None:
    if not unit:
        # Energies come in Wh and in J, and nobody can tell from the numbers.
        usual = {"energy": None, "time": None, "factor": 1.0}
        size = usual.get(quantity, 1.0)
        return Column(place, head, quantity, size, is_stated=not UNITS[quantity])
    size = UNITS[quantity].get(unit)
    return None if size is None else Column(place, head, quantity, size)


def bracketed(text: str) -> tuple[str, str] | None:
    """Return the name and the unit of a head such as "Power (W)"; None for a head without brackets at its end."""
    word = text.strip()
    if not word.endswith(("]", ")")):
        return None
    begin = max(word.rfind("]", 0, -1), word.rfind(")", 0, -1)) + 1
    found = _BRACKETS.search(word, begin)
    if found is None:
        return None
    return word[: found.start()].strip(), word[found.end() : -1].strip()


def _parted(text: str) -> tuple[str, str]:
    """Return the plain name of a head and its plain unit, "" if it has none; a bare unit names its quantity."""
    parted = bracketed(text)
    if parted:
        return _plain(parted[0]), plain_unit(parted[1])
    words = _plain(text).split()
    last = plain_unit(words[-1]) if words else ""
    quantity = _quantity_of(last)
    if quantity and len(words) == 1 and words[0] not in _NAMES[quantity]:
        return _NAMES[quantity][1 if quantity != "energy" else 0], last
    if quantity and len(words) > 1:
        return " ".join(words[:-1]), last
    return " ".join(words), ""


def _quantity_of(unit: str) -> str:
    for quantity, units in UNITS.items():
        if unit in units and quantity != "counted":
            return quantity
    return ""


def option_by_unit(left: Sequence[str], used: Collection[str]) -> str:
    """Return a sentence with the option that takes a column by its unit: the first of a quantity that none has yet.

    `left` are the heads of unused columns, `used` the quantities of the others. Empty if there is none.
    """
    for head in left:
        parted = bracketed(head)
        unit = parted[1] if parted else ""
        quantity = _quantity_of(plain_unit(unit))
        if quantity in TAKEN_BY_UNIT and quantity not in used:
            option = shlex.quote(f"{quantity}:{unit}={head}")
            return f" If {head[:40]!r} is the meter's {quantity}, --columns {option} uses it."
    return ""


def plain_unit(text: str) -> str:
    """Return a unit in small letters, with u for micro and without blanks; a long word is shortened."""
    unit = (
        text.strip()
        .replace("\N{MICRO SIGN}", "u")
        .replace("\N{GREEK SMALL LETTER MU}", "u")
    )
    if unit in _AMBIGUOUS:
        return f"mega {unit}"
    unit = unit.casefold()
    return _LONG_UNITS.get(unit, unit)


def plain_name(head: str) -> str:
    """Return a head in small letters, without its unit in brackets, with blanks for all other signs."""
    parted = bracketed(head)
    return _plain(parted[0] if parted else head)


def _plain(text: str) -> str:
    return " ".join(re.split(r"[\W_]+", text.casefold())).strip()


def are_places(columns: str) -> bool:
    """Return True if every column is named by its place: the file then has no heading."""
    named = [one.partition("=")[2].strip() for one in columns.split(",") if one.strip()]
    return bool(named) and all(one.isdecimal() for one in named)


def asked_columns(asked: str, heads: Sequence[str]) -> list[Column]:
    """Return the columns of `--columns`, such as "power:mW=Load,time=Stamp"; a number names a place from 1.

    Raises MeterError `recording-columns`, naming what is wrong.
    """
    found = [_asked(one, heads) for one in asked.split(",") if one.strip()]
    counts = Counter(one.quantity for one in found)
    twice = [quantity for quantity, count in counts.items() if count > 1]
    if twice:
        raise MeterError(
            "recording-columns",
            f"--columns names {twice[0]} twice; name one column for each quantity.",
        )
    _require_own_columns(found)
    return found


def _require_own_columns(found: Sequence[Column]) -> None:
    by_place: dict[int, str] = {}
    for one in found:
        earlier = by_place.setdefault(one.place, one.quantity)
        if earlier != one.quantity:
            raise MeterError(
                "recording-columns",
                f"--columns takes {one.head!r} for {earlier} and for {one.quantity}; a column has one quantity.",
            )


def _asked(text: str, heads: Sequence[str]) -> Column:
    wanted, equals, head = text.partition("=")
    quantity, colon, unit = wanted.strip().partition(":")
    if not equals or quantity not in UNITS:
        raise MeterError(
            "recording-columns",
            f"--columns has {text.strip()!r} where QUANTITY=HEAD or QUANTITY:UNIT=HEAD should be, with one of "
            f"{', '.join(UNITS)}.",
        )
    place = _place_of(head.strip(), heads)
    _, of_head = _parted(heads[place])
    size: float | None = None
    is_stated = True
    if colon:
        size = UNITS[quantity].get(plain_unit(unit))
        if size is None:
            known = ", ".join(UNITS[quantity]) or "none"
            raise MeterError(
                "recording-columns",
                f"--columns names the unit {unit!r} for {quantity}; known are: {known}.",
            )
    elif of_head in UNITS[quantity]:
        size = UNITS[quantity][of_head]
    elif bracketed(heads[place]) and UNITS[quantity]:
        raise MeterError(
            "recording-columns",
            f"The unit of the column {heads[place].strip()!r} is unknown; write it as --columns "
            f"{quantity}:UNIT={head.strip()}.",
        )
    else:
        is_stated = not UNITS[quantity]
        size = None if quantity in ("energy", "time") else 1.0
    return Column(place, heads[place].strip(), quantity, size, is_stated=is_stated)


def _place_of(head: str, heads: Sequence[str]) -> int:
    plain = [one.strip().casefold() for one in heads]
    if plain.count(head.casefold()) > 1:
        raise MeterError(
            "recording-columns",
            f"--columns names the column {head!r}, and several have that name; give them different names in the file.",
        )
    if head.casefold() in plain:
        return plain.index(head.casefold())
    named = [_name_in(one) for one in plain]
    if head and named.count(head.casefold()) == 1:
        return named.index(head.casefold())
    if head.isdecimal() and 1 <= int(head) <= len(heads):
        return int(head) - 1
    raise MeterError(
        "recording-columns",
        f"--columns names the column {head!r}, which the file does not have; it has {quoted(heads)}.",
    )


def _name_in(head: str) -> str:
    parted = bracketed(head)
    return parted[0] if parted else ""


def quoted(heads: Sequence[str]) -> str:
    """Return heads for a sentence, at most twelve of them."""
    return listed([repr(one.strip()[:40]) for one in heads], 12)
