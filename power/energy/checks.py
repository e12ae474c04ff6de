"""All checks of a run's energy. Pure; docs/energy.md gives the rule behind each, and why."""

from __future__ import annotations

from collections.abc import Sequence

from power.energy.conditions import accuracy, official_meter, range_changed
from power.energy.gaps import no_data, reading_gaps
from power.energy.integral import integrator_time, integrator_trapezoid
from power.energy.measurement import Check, Measurement
from power.energy.signal import low_load, negative_power, over_range, peak_clipping
from power.meter import Reading


def energy_checks(readings: Sequence[Reading], measured: Measurement) -> tuple[Check, ...]:
    """Return every check of one run's energy, whether it holds or not."""
    inside = [one for one in readings if measured.start_s <= one.monotonic_s <= measured.end_s]
    return (
        integrator_trapezoid(readings, inside, measured),
        integrator_time(measured),
        over_range(inside),
        peak_clipping(inside),
        negative_power(inside, measured),
        low_load(inside, measured),
        range_changed(measured),
        reading_gaps(inside, measured),
        no_data(inside, measured),
        accuracy(inside, measured),
        official_meter(measured),
    )
