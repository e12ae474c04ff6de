"""The uncertainty of an energy above idle: the idle power's own, and what of the meter's error cancels. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from lpirc_power.energy.budget import Budget, Distribution, Term
from lpirc_power.energy.common_error import Common, is_common
from lpirc_power.energy.energy_budget import NAMES
from lpirc_power.energy.integral import above_idle_wh
from lpirc_power.energy.limit_parts import READING, limit_parts, own_parts
from lpirc_power.energy.measurement import Measurement
from lpirc_power.energy.power_error_limit import Load, Part, limit_of_load

IDLE: Final = "idle"


@dataclass(frozen=True)
class IdlePower:
    """An idle load, the standard uncertainty of its mean power from the readings, and the degrees of freedom of that.

    `standard_w` is NaN if too few readings show it. `lasted_s` is how long it was measured; None for as long as the
    energy.
    """

    load: Load
    standard_w: float
    freedom: float
    lasted_s: float | None = None


def net_budget(
    budget: Budget,
    idle: IdlePower,
    measured: Measurement,
    *,
    is_one_range: bool | None = None,
) -> Budget:
    """Return the budget of an energy less the idle power x its time.

    An error of the reading is the same part of both powers, if the meter was in one range and the limit is the same: of
    the difference it is that part, and the rest cancels. Without `is_one_range`, as of `in_one_range`, that is so if
    the ranges of the setup are fixed. Nothing is known of how far other errors are alike at both loads, so those of the
    idle power are added as errors of their own. A change of the idle power after it was measured is not covered: no
    reading shows it.
    """
    net_wh = above_idle_wh(budget.energy_wh, idle.load.power_w, measured.energy_s)
    hours = measured.energy_s / 3600.0
    own = tuple(_idle_terms(idle, measured, hours))
    if is_one_range is None:
        is_one_range = measured.setup.range_w is not None
    alike = _alike(budget, own) if is_one_range else set()
    left = abs(net_wh / budget.energy_wh) if budget.energy_wh else 1.0
    parts = dict.fromkeys(alike, left)
    terms = [_left(one, parts.get(one.code, 1.0)) for one in budget.terms]
    terms += [one for one in own if one.code.removeprefix(f"{IDLE}-") not in alike]
    return Budget(net_wh, (*terms, _spread_term(idle, hours)))


def _left(term: Term, part: float) -> Term:
    if part == 1.0:
        return term
    source = f"{term.source}; what is alike at idle cancels"
    return replace(term, sensitivity_wh=term.sensitivity_wh * part, source=source)


def _alike(budget: Budget, own: tuple[Term, ...]) -> set[str]:
    """Return the codes of errors that are the same part of both loads, whose powers differ."""
    widths = {one.code: one.half_width for one in own if one.is_known}
    return {
        one.code
        for one in budget.terms
        if is_common(one, Common.READING)
        and widths.get(f"{IDLE}-{one.code}") == one.half_width
    }


def _idle_terms(idle: IdlePower, measured: Measurement, hours: float) -> Iterator[Term]:
    """Yield the terms of the meter's limit at the idle load."""
    load = idle.load
    limits = measured.limits
    found = limit_of_load(measured.setup, limits, load)
    if found is None or limits is None:
        yield _term(
            Part(READING, math.nan, "%", math.nan),
            hours,
            "The meter's limit of error at the idle power is unknown.",
        )
        return
    source = limits.source or "the meter's driver"
    for part in limit_parts(found, measured.setup, limits, load):
        yield _term(part, hours, part.source or source)
    lasted_s = idle.lasted_s or 3600.0 * hours
    for part, _ in own_parts(limits, load.power_w, lasted_s):
        yield _term(part, hours, part.source)


def _term(part: Part, hours: float, source: str) -> Term:
    return Term(
        code=f"{IDLE}-{part.code}",
        name=f"at idle, {part.name or NAMES[part.code]}",
        half_width=part.half_width if math.isfinite(part.half_width) else None,
        unit=part.unit,
        distribution=Distribution.RECTANGULAR,
        sensitivity_wh=part.sensitivity_w * hours,
        source=source,
        group=f"{IDLE} {part.group}" if part.group else "",
    )


def _spread_term(idle: IdlePower, hours: float) -> Term:
    is_known = math.isfinite(idle.standard_w) and idle.freedom >= 1.0
    return Term(
        code=f"{IDLE}-spread",
        name="the spread of the idle power",
        half_width=idle.standard_w if is_known else None,
        unit="W",
        distribution=Distribution.STUDENT,
        sensitivity_wh=hours,
        source="the means of consecutive parts of the idle readings"
        if is_known
        else "Too few idle readings show a spread: measure the idle power for longer.",
        freedom=idle.freedom if is_known else None,
        is_guaranteed=False,
    )
