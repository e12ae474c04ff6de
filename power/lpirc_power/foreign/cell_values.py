"""Cells of other programs' recordings: numbers, words for no data and for over range, times. Pure."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime
from typing import Final

from lpirc_power.foreign.column_names import UNITS, plain_unit

NO_DATA: Final = frozenset(
    (
        "", "nan", "na", "n/a", "[n/a]", "#n/a", "null", "none", "nil", "-", "--", "---", "----", "no data",
        "[not supported]", "not supported", "unknown error", "[unknown error]",
        "unavailable", "unknown",
    )
)  # fmt: skip
"""Words that stand for no data, in small letters."""
OVER_RANGE: Final = frozenset(
    ("inf", "+inf", "-inf", "infinity", "ol", "-ol-", "o.l", "o.l.", "over", "over range", "overrange", "overload")
)  # fmt: skip
"""Words that stand for over range, in small letters."""
CODES: Final = {9.91e37: math.nan, 9.9e37: math.inf}
"""What SCPI writes for no data and for infinity."""
_NUMBER: Final = re.compile(
    r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE
)
_THOUSANDS: Final = {
    is_comma: re.compile(rf"[+-]?[1-9]\d{{0,2}}({group}\d{{3}})+({sign}\d+)?", re.ASCII)
    for is_comma, sign, group in ((True, ",", r"\."), (False, r"\.", ","))
}
_WITH_UNIT: Final = re.compile(
    r"(?P<number>[+-]?(\d[\d.,]*|[.,]\d+)(e[+-]?\d+)?)\s*(?P<unit>[A-Za-z\N{MICRO SIGN}\N{GREEK SMALL LETTER MU}]+)",
    re.ASCII | re.IGNORECASE,
)
_FORMS: Final = (
    "%m-%d-%Y %H:%M:%S.%f", "%m-%d-%Y %H:%M:%S",
    "%Y/%m/%d %H:%M:%S.%f", "%Y/%m/%d %H:%M:%S",
    "%d.%m.%Y %H:%M:%S.%f", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M",
    "%d.%m.%y %H:%M:%S.%f", "%d.%m.%y %H:%M:%S",
)  # fmt: skip
"""Forms of a time beside ISO 8601: of PTDaemon, of nvidia-smi, and with dots, which always means day first."""
_CLOCK: Final = re.compile(r"(\d{1,2}):([0-5]\d):([0-5]\d(?:[.,]\d+)?)", re.ASCII)
_HALF_DAY: Final = re.compile(
    r"(?P<before>(?:.* )?)(?P<hour>\d{1,2})(?P<after>:\S+) ?(?P<half>[ap])\.?m\.?",
    re.ASCII | re.IGNORECASE,
)
UNIX_FROM: Final = {1e17: 1e-9, 1e14: 1e-6, 1e11: 1e-3, 1e8: 1.0}
"""Least number of a Unix time, and its unit in seconds: from 1973 on they do not overlap."""


def number(text: str, *, has_decimal_comma: bool) -> float:
    """Return a number, NaN for a word that stands for no data, infinity for one of over range. Raises ValueError."""
    word = text.strip().casefold()
    if word in NO_DATA:
        return math.nan
    if word in OVER_RANGE:
        return math.inf
    group, sign = (".", ",") if has_decimal_comma else (",", ".")
    if _THOUSANDS[has_decimal_comma].fullmatch(word):
        word = word.replace(group, "")
    if group in word:
        raise ValueError(text)
    word = word.replace(sign, ".")
    if not _NUMBER.fullmatch(word):
        raise ValueError(text)
    found = float(word)
    if not math.isfinite(found):
        raise ValueError(text)
    return CODES.get(found, found)


def sized(text: str, quantity: str, size: float, *, has_decimal_comma: bool) -> float:
    """Return a cell in W, V, A, VA, Wh or s; a unit in the cell ("23.1 W") counts before that of the column."""
    parted = _WITH_UNIT.fullmatch(text.strip())
    if parted and plain_unit(parted["unit"]) in UNITS[quantity]:
        text = parted["number"]
        size = UNITS[quantity][plain_unit(parted["unit"])]
    return number(text, has_decimal_comma=has_decimal_comma) * size


def without_unit(text: str) -> str:
    """Return the number of a cell such as "23.1 W"; any other cell as it is."""
    word = text.strip()
    parted = _WITH_UNIT.fullmatch(word)
    return parted["number"] if parted else word


def unix_size(value: float) -> float | None:
    """Return the unit, in seconds, of a number that is a Unix time; None for a number that counts from elsewhere."""
    return next((size for least, size in UNIX_FROM.items() if value >= least), None)


def moment(text: str) -> datetime | None:
    """Return a date with time; without an offset it is taken as UTC. None if it is in no known form."""
    word = _in_24_hours(text)
    try:
        found = datetime.fromisoformat(word.replace(",", "."))
    except ValueError:
        found_in_form = _in_form(word.replace(",", "."))
        if found_in_form is None:
            return None
        found = found_in_form
    if found.tzinfo is None:
        return found.replace(tzinfo=UTC)
    return found.astimezone(UTC)


def _in_form(word: str) -> datetime | None:
    for form in _FORMS:
        try:
            return datetime.strptime(word, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None


def clock_s(text: str) -> float | None:
    """Return the seconds since midnight of a time without a date; None for anything else."""
    found = _CLOCK.fullmatch(_in_24_hours(text))
    if found is None:
        return None
    hours, minutes, seconds = found.groups()
    return int(hours) * 3600.0 + int(minutes) * 60.0 + float(seconds.replace(",", "."))


def _in_24_hours(text: str) -> str:
    """Return a time with AM or PM in 24 hours; any other as it is, also one of an hour that no such clock shows."""
    word = text.strip()
    found = _HALF_DAY.fullmatch(word)
    if found is None or not 1 <= int(found["hour"]) <= 12:
        return word
    hour = int(found["hour"]) % 12
    if found["half"] in "pP":
        hour += 12
    return f"{found['before']}{hour:02}{found['after']}"


def is_date(text: str) -> bool:
    """Return True for a date without a time, in ISO form."""
    try:
        date.fromisoformat(text.strip())
    except ValueError:
        return False
    return True
