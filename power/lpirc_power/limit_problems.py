"""What cannot be in limits of error, as a driver or a record states them. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from typing import Final

from lpirc_power.meter import Drift, Limits
from lpirc_power.one_line import one_line, shown_value
from lpirc_power.own_term import OwnTerm

LARGEST_AGE_S: Final = 3600.0
"""The largest age of a value: a meter that counts once in an hour."""
LARGEST: Final = 1e9
"""The largest of any other figure, in watts, watt-hours or times: no meter has it."""
SIZES: Final = ("share", "power_w", "energy_wh")
"""The sizes of an own term, of which it has one."""
CODES_OF_THE_BUDGET: Final = frozenset(
    (
        "reading", "range", "power-factor", "crest-factor", "line-filter", "zero-drift", "zero-drift-voltage",
        "zero-drift-current", "start-stop", "age", "ended", "gaps", "resolution-wh", "resolution-time", "idle",
        "spread",
    )
)  # fmt: skip
"""Codes of the budget's own terms, which no driver's term may have."""


def limit_problems(stated: Limits) -> tuple[str, ...]:
    """Return a clause for each figure that cannot be, as `age_s = nan, where ...`; empty if limits can be used."""
    return tuple(_problems(stated))


def _problems(stated: Limits) -> Iterator[str]:
    for one in fields(Limits):
        value = getattr(stated, one.name)
        if one.name in ("own", "drift", "source", "elements"):
            continue
        if value is None and one.default is None:
            continue
        yield from _of_number(one.name, value, *_bounds(one.name))
    yield from _of_text("source", stated.source)
    if not _is_whole(stated.elements) or not 1 <= stated.elements <= 1000:
        yield _wrong("elements", stated.elements, "a whole number from 1 must be")
    yield from _of_range(stated)
    yield from _of_drift(stated.drift)
    yield from _of_own(stated.own)


def _bounds(name: str) -> tuple[float, float]:
    if name.endswith("_share"):
        return 0.0, 1.0
    if name == "age_s":
        return 0.0, LARGEST_AGE_S
    return (1.0 if name.endswith("_times") else 0.0), LARGEST


def _of_range(stated: Limits) -> Iterator[str]:
    """Shares of a range of 0 W would be no error."""
    has_range = stated.range_share or stated.dc_range_share
    if has_range and stated.smallest_range_w == 0:
        yield "smallest_range_w = 0, beside a share of the range"


def _of_drift(drift: object) -> Iterator[str]:
    if drift is None:
        return
    if not isinstance(drift, Drift):
        yield _wrong("drift", drift, "a Drift or None must be")
        return
    for one in fields(Drift):
        place = f"drift.{one.name}"
        value = getattr(drift, one.name)
        if one.name == "source":
            yield from _of_text(place, value)
        else:
            yield from _of_number(place, value, 0.0, LARGEST)


def _of_own(own: object) -> Iterator[str]:
    if not isinstance(own, tuple) or not all(isinstance(one, OwnTerm) for one in own):
        yield _wrong("own", own, "a tuple of OwnTerm must be")
        return
    for one in own:
        yield from _of_term(one)
    codes = Counter(str(one.code) for one in own)
    for code, count in codes.items():
        if count > 1:
            yield f"{count} own terms have the code {code!r}"
        if code in CODES_OF_THE_BUDGET:
            yield f"an own term has the code {code!r}, which is a term of every budget"


def _of_term(own: OwnTerm) -> Iterator[str]:
    place = f"the own term {shown_value(own.code)}"
    for name in ("code", "name", "source"):
        for problem in _of_text(name, getattr(own, name)):
            yield f"{place} has {problem}"
    wrong: list[str] = []
    for name in SIZES:
        largest = 1.0 if name == "share" else LARGEST
        wrong += _of_number(name, getattr(own, name), 0.0, largest)
    for problem in wrong:
        yield f"{place} has {problem}"
    given = [name for name in SIZES if getattr(own, name)]
    if not wrong and len(given) != 1:
        sizes = ", ".join(f"{name} = {getattr(own, name):g}" for name in SIZES)
        yield f"{place} has {sizes}, of which one must be above 0"


def _of_number(name: str, value: object, least: float, largest: float) -> Iterator[str]:
    # NaN is in no interval, and so no number that can be used.
    if (
        not isinstance(value, (int, float))
        or isinstance(value, bool)
        or not least <= value <= largest
    ):
        yield _wrong(name, value, f"a number from {least:g} to {largest:g} must be")


def _of_text(name: str, value: object) -> Iterator[str]:
    if not isinstance(value, str) or value != one_line(value):
        yield _wrong(name, value, "a text of one line must be")


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _wrong(name: str, value: object, wanted: str) -> str:
    return f"{name} = {shown_value(value)}, where {wanted}"


def limits_that_differ(stated: Limits, found: Limits) -> str:
    """Return the figures in which two limits differ, as `reading_share = 0.03, not 0.01`."""
    shown = dict(_figures(stated))
    others = dict(_figures(found))
    differing = [
        f"{name} = {shown.get(name, 'none')}, not {others.get(name, 'none')}"
        for name in {**shown, **others}
        if shown.get(name) != others.get(name)
    ]
    more = len(differing) - 3
    listed = "; ".join(differing[:3])
    return f"{listed}; and {more} more" if more > 0 else listed


def _figures(limits: Limits) -> Iterator[tuple[str, str]]:
    """Yield name and text of each figure; a figure that is its default is left out."""
    for one in fields(Limits):
        value = getattr(limits, one.name)
        if one.name == "own":
            for term in value:
                yield from _sizes(term)
        elif isinstance(value, Drift):
            for part in fields(Drift):
                yield f"drift.{part.name}", _text(getattr(value, part.name))
        elif value != one.default:
            yield one.name, _text(value)


def _sizes(term: OwnTerm) -> Iterator[tuple[str, str]]:
    for name in SIZES:
        if size := getattr(term, name):
            yield f"{name} of {term.code}", _text(size)


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, (int, float)) else ascii(value)
