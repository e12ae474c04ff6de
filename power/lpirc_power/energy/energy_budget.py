"""The uncertainty budget of a measured energy. Pure; docs/energy.md says why each term is what it is."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from lpirc_power.energy.budget import Budget, Distribution, Term
from lpirc_power.energy.limit_parts import (
    CREST_FACTOR,
    LINE_FILTER,
    POWER_FACTOR,
    RANGE,
    READING,
    ZERO_DRIFT,
)
from lpirc_power.energy.measured_energy import Edges, Energy
from lpirc_power.energy.power_beyond import PowerBeyond
from lpirc_power.energy.power_error_limit import Part
from lpirc_power.energy.unseen import Unseen

NAMES: Final = {
    READING: "the error of the reading",
    LINE_FILTER: "what the line filter adds",
    RANGE: "the error of the range",
    CREST_FACTOR: "what crest factor 6 adds to it",
    POWER_FACTOR: "the influence of the power factor",
    ZERO_DRIFT: "the drift of the zero level",
    "zero-drift-voltage": "the drift of the voltage's zero level",
    "zero-drift-current": "the drift of the current's zero level",
}
START_STOP: Final = "start-stop"
AGE: Final = "age"
AGE_NAME: Final = "the age of the counter's values"
ENDED: Final = "ended"
GAPS: Final = "gaps"
RESOLUTION_WH: Final = "resolution-wh"
RESOLUTION_TIME: Final = "resolution-time"
WIDTHS: Final = 20
"""Widths in a mixture of rectangles."""
ROUNDED: Final = 1e-3
"""Part of an energy's error that may come from rounded readings."""
DIGITS: Final = 6
"""Digits of mantissa of an integrated value (IM WT310-17EN)."""
TIME_HALF_S: Final = 0.5


def budget_of(energy: Energy) -> Budget:
    """Return the uncertainty budget of an energy.

    The sum of the limits of its guaranteed terms is `energy.limit` x the energy, and more where the power varies: start
    and stop are then taken at the largest power that was read. If the meter's limit is unknown, one unknown term stands
    for it and says why.
    """
    terms = [
        *_meter_terms(energy),
        start_stop_term(energy.edges, energy.beyond),
        *age_terms(energy),
        _gaps_term(energy),
        *_resolution_terms(energy),
        *_ended_terms(energy),
    ]
    return Budget(energy.energy_wh, tuple(terms))


def _meter_terms(energy: Energy) -> Iterator[Term]:
    if energy.meter_limit is None:
        yield Term(
            code=energy.lacks or READING,
            name=NAMES[energy.lacks or READING],
            half_width=None,
            unit="%",
            distribution=Distribution.RECTANGULAR,
            sensitivity_wh=0.0,
            source=energy.unknown,
            is_shared=True,
        )
        return
    wh_per_watt = abs(energy.energy_wh) / energy.mean_power_w
    for part in energy.parts:
        yield _meter_term(part, wh_per_watt, energy)


def _meter_term(part: Part, wh_per_watt: float, energy: Energy) -> Term:
    is_drift = part.code.startswith(ZERO_DRIFT)
    source = part.source or energy.known_by
    if is_drift:
        document = energy.drift_source or "the meter's driver"
        source = f"{document}, for {energy.ambient_change_c:g} degrees C"
    return Term(
        code=part.code,
        name=part.name or NAMES[part.code],
        half_width=part.half_width,
        unit=part.unit,
        distribution=Distribution.RECTANGULAR,
        sensitivity_wh=part.sensitivity_w * wh_per_watt,
        source=source,
        is_shared=not (is_drift or part.is_own),
        group=part.group,
    )


def start_stop_term(edges: Edges, beyond: PowerBeyond) -> Term:
    """Return the term of start and stop of an energy: the integrator may have run longer than the window.

    It is an error on one side, from 0 to the limit, and is not corrected. Beside errors that are symmetric about 0, an
    interval about the uncorrected energy then holds as much as with a rectangle from - to + the limit, and the root of
    the mean square is the same. A length that is known exactly is an error of that size.
    """
    is_steady = len(beyond.profile) == 1
    distribution = Distribution.RECTANGULAR if is_steady else Distribution.MIXED
    if edges.is_known:
        distribution = Distribution.TWO_POINT
    has_window = edges.window_s > 0
    source = edges.source
    if not has_window:
        source = "The window of this energy has no length."
    return Term(
        code=START_STOP,
        name="start and stop",
        half_width=edges.most_s if has_window else None,
        unit="s",
        distribution=distribution,
        sensitivity_wh=beyond.mean_w / 3600.0,
        source=source,
        profile=beyond.profile,
    )


def age_terms(energy: Energy) -> Iterator[Term]:
    """Yield the term of a counter that is up to `age_s` behind.

    At the start it may miss as much before the window, and at the end as much within it: two errors of opposite sign,
    each as large as the power at its edge. Of a steady load they partly cancel; of one that steps, either may be whole.
    """
    edges = energy.edges
    if not edges.age_s:
        return
    is_stated = energy.is_age_stated
    source = f"the driver: a value is up to {edges.age_s:.3g} s old"
    if not is_stated:
        source = "taken as one update interval, since the driver states no age"
    has_window = edges.window_s > 0
    yield Term(
        code=AGE,
        name=AGE_NAME,
        half_width=edges.age_s if has_window else None,
        unit="s",
        distribution=Distribution.RECTANGULAR,
        sensitivity_wh=_wh_per_s(energy.energy_wh, edges) * edges.peak,
        source=source if has_window else "The window of this energy has no length.",
    )


def _wh_per_s(energy_wh: float, edges: Edges) -> float:
    return abs(energy_wh) / edges.window_s if edges.window_s > 0 else 0.0


def _gaps_term(energy: Energy) -> Term:
    unseen = energy.unseen
    source = "the readings cover the whole window"
    if unseen.stretches:
        source = (
            f"the readings: {unseen.lasted_s:.3g} s not seen, at powers from {unseen.least_w:.4g} to "
            f"{unseen.most_w:.4g} W"
        )
    distribution, profile = _gaps_shape(unseen)
    return Term(
        code=GAPS,
        name="what no reading has seen",
        half_width=unseen.off_wh,
        unit="Wh",
        distribution=distribution,
        sensitivity_wh=1.0,
        source=source,
        profile=profile,
    )


def _gaps_shape(unseen: Unseen) -> tuple[Distribution, tuple[float, ...]]:
    """Return the distribution of an error that is anywhere between two bounds, the farther one being the limit.

    Between -p and q, uncorrected (JCGM 100, 4.3.8 and F.2.4.5), an interval about 0 holds it as often as a mixture of
    +-p and +-q, as likely as p is to q. An error that cannot be 0 is taken to be as large as it may be.
    """
    near_wh, far_wh = sorted(unseen.bounds_wh)
    if not far_wh > 0.0 or not math.isfinite(near_wh + far_wh):
        return Distribution.RECTANGULAR, (1.0,)
    if near_wh < -ROUNDED * far_wh:
        return Distribution.TWO_POINT, (1.0,)
    near = max(near_wh, 0.0)
    place = round(WIDTHS * near / (near + far_wh))
    inner = round(near / far_wh, 4)
    widths = (inner,) * place + (1.0,) * (WIDTHS - place)
    return Distribution.MIXED, widths


def _resolution_terms(energy: Energy) -> Iterator[Term]:
    if energy.is_summed:
        return
    yield Term(
        code=RESOLUTION_WH,
        name="the resolution of WH",
        half_width=half_digit(energy.energy_wh),
        unit="Wh",
        distribution=Distribution.RECTANGULAR,
        sensitivity_wh=1.0,
        source=f"taken as {DIGITS} digits of an integrated value{_if_of_wt(energy)}",
        is_guaranteed=False,
    )
    yield Term(
        code=RESOLUTION_TIME,
        name="the resolution of TIME",
        half_width=TIME_HALF_S if energy.is_time_whole else 0.0,
        unit="s",
        distribution=Distribution.RECTANGULAR,
        sensitivity_wh=0.0,
        source=f"{_time_words(energy)}; the host's clock bounds the window, so no energy depends on TIME",
        is_guaranteed=False,
    )


def _time_words(energy: Energy) -> str:
    if energy.is_time_whole:
        return f"taken as whole seconds{_if_of_wt(energy)}"
    return "this meter's TIME is not rounded"


def _if_of_wt(energy: Energy) -> str:
    """Cite the manual only of the meters that it is of."""
    return " (IM WT310-17EN)" if "IM WT3" in (energy.source or "") else ""


def _ended_terms(energy: Energy) -> Iterator[Term]:
    if energy.ended:
        yield Term(
            code=ENDED,
            name="the rest of the window",
            half_width=None,
            unit="Wh",
            distribution=Distribution.RECTANGULAR,
            sensitivity_wh=1.0,
            source=f"The energy is not that of the window: {energy.ended}.",
        )


def half_digit(value: float) -> float:
    """Return half of the last digit of an integrated value."""
    if not value or not math.isfinite(value):
        return 0.0
    place = int(f"{value:e}".partition("e")[2]) - DIGITS + 1
    return float(f"0.5e{place}")
