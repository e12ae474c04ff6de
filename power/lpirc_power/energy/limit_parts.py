"""The parts of a meter's limit of error for one load, each as its maker states it. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from lpirc_power.energy.power_error_limit import (
    Limit,
    Load,
    Part,
    dc_drifts,
    elements_of,
    percent_part,
)
from lpirc_power.meter import Limits, Setup

READING: Final = "reading"
RANGE: Final = "range"
POWER_FACTOR: Final = "power-factor"
CREST_FACTOR: Final = "crest-factor"
LINE_FILTER: Final = "line-filter"
ZERO_DRIFT: Final = "zero-drift"


def limit_parts(
    found: Limit, setup: Setup, limits: Limits, load: Load
) -> tuple[Part, ...]:
    """Return the parts of `found`, the limit of a load by `limits` as the maker states them.

    What crest factor 6 adds is of the group of the range: the same error is stated twice as large. The line filter adds
    an error of its own. Drift is that of the voltage and that of the current. What adds nothing is left out.
    """
    combined = {part.code: part for part in found.parts}
    is_dc = ZERO_DRIFT in combined
    parts = [
        *_reading_parts(combined[READING], setup, limits, is_dc=is_dc),
        *_range_parts(combined[RANGE], setup, limits, is_dc=is_dc),
    ]
    if is_dc:
        parts += _drift_parts(setup, limits, load)
    else:
        parts.append(combined[POWER_FACTOR])
    return tuple(parts)


def _reading_parts(
    part: Part, setup: Setup, limits: Limits, *, is_dc: bool
) -> list[Part]:
    whole_w = 100.0 * part.sensitivity_w
    share = limits.reading_share
    added = limits.filter_share
    if is_dc:
        added = limits.dc_filter_share
        if limits.dc_reading_share is not None:
            share = limits.dc_reading_share
    parts = [percent_part(READING, share, whole_w)]
    if setup.line_filter and added:
        parts.append(percent_part(LINE_FILTER, added, whole_w))
    return parts


def _range_parts(
    part: Part, setup: Setup, limits: Limits, *, is_dc: bool
) -> list[Part]:
    whole_w = 100.0 * part.sensitivity_w
    share = limits.dc_range_share if is_dc else limits.range_share
    parts = [percent_part(RANGE, share, whole_w, RANGE)]
    added = part.half_width / 100.0 - share
    if setup.crest_factor > 3 and added > 0.0:
        parts.append(percent_part(CREST_FACTOR, added, whole_w, RANGE))
    return parts


def _drift_parts(setup: Setup, limits: Limits, load: Load) -> list[Part]:
    known = limits.under(setup)
    if known.drift is None:
        return []
    of_voltage_v, of_current_a = dc_drifts(
        setup, known.drift, load.voltage_v, load.current_a
    )
    elements = elements_of(setup, limits)
    return [
        Part("zero-drift-voltage", of_voltage_v, "V", abs(load.current_a) * elements),
        Part("zero-drift-current", of_current_a, "A", abs(load.voltage_v) * elements),
    ]


def own_parts(
    limits: Limits, power_w: float, lasted_s: float
) -> Iterator[tuple[Part, float]]:
    """Yield the parts that a driver states as its own, each with its limit in watts of the mean power."""
    for own in limits.own:
        named = {"name": own.name, "source": own.source}
        if own.share:
            part = Part(own.code, 100.0 * own.share, "%", power_w / 100.0, **named)
        elif own.power_w:
            part = Part(own.code, own.power_w, "W", 1.0, **named)
        else:
            watts_per_wh = 3600.0 / lasted_s if lasted_s > 0 else math.inf
            part = Part(own.code, own.energy_wh, "Wh", watts_per_wh, **named)
        yield part, part.half_width * part.sensitivity_w
