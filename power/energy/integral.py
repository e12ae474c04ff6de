"""Checks of the integrator of record against the readings and against the window. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from power.energy.arithmetic import trapezoid_wh
from power.energy.gaps import pauses_s
from power.energy.measurement import TIME_RESOLUTION_S, Check, Measurement, json_ready
from power.meter import Reading

RELATIVE_TOLERANCE: Final = 0.005
"""Allowed difference of integrator and trapezoid, relative to the larger one."""
WH_RESOLUTION: Final = 1e-5
"""Six digits of mantissa in an integrated value (IM WT310-17EN): at worst this part of the value."""
START_STOP_S: Final = 1.0
"""What the commands to start and to stop may add between the window and the integrator, if nobody measured it."""
EDGE_UPDATES: Final = 2.0
UNSEEN_UPDATES: Final = 1.5
"""In a longer pause, so many updates long, an update was missed: nobody saw the power of then."""


def integrator_trapezoid(
    readings: Sequence[Reading], inside: Sequence[Reading], measured: Measurement
) -> Check:
    """`integrator-trapezoid`: the meter's integral and the one of the readings agree."""
    integrator_wh = measured.integrator_wh
    times, powers_w = [r.monotonic_s for r in readings], [r.power_w for r in readings]
    sum_wh = trapezoid_wh(times, powers_w, measured.start_s, measured.end_s)
    unseen_s = sum(pauses_s(inside, measured, UNSEEN_UPDATES * measured.setup.update_interval_s))
    tolerance_wh = _tolerance_wh(readings, sum_wh, unseen_s, measured)
    difference_wh = integrator_wh - sum_wh
    ok = abs(difference_wh) <= tolerance_wh  # false for NaN: nothing to compare is no agreement
    if math.isnan(sum_wh):
        sentence = f"The integrator has {integrator_wh:.6g} Wh, but no reading of the run carries a power to compare."
    else:
        sentence = (
            f"The integrator has {integrator_wh:.6g} Wh, the readings make {sum_wh:.6g} Wh: "
            f"{abs(difference_wh):.3g} Wh apart, {'of' if ok else 'more than'} {tolerance_wh:.3g} Wh allowed."
        )
    figures: dict[str, float | int | None] = {
        "integrator_wh": json_ready(integrator_wh),
        "trapezoid_wh": json_ready(sum_wh),
        "difference_wh": json_ready(difference_wh),
        "tolerance_wh": json_ready(tolerance_wh),
        "start_stop_s": json_ready(measured.start_stop_s),
    }
    return Check("integrator-trapezoid", ok, "error", sentence, figures)


def _tolerance_wh(
    readings: Sequence[Reading], sum_wh: float, unseen_s: float, measured: Measurement
) -> float:
    """How far the two may be apart: their accuracy, the edges of the window, start and stop, what nobody saw.

    While nobody saw it the power may have been anything between the least and the largest that was read.
    """
    if not math.isfinite(sum_wh + measured.integrator_wh):
        return math.nan
    finite_w = [reading.power_w for reading in readings if math.isfinite(reading.power_w)]
    relative_wh = (RELATIVE_TOLERANCE + WH_RESOLUTION) * max(abs(sum_wh), abs(measured.integrator_wh))
    edges_wh = measured.setup.update_interval_s * max(map(abs, finite_w)) / 3600.0
    span_s = START_STOP_S if measured.start_stop_s is None else measured.start_stop_s
    edges_wh += span_s * _edge_power_w(readings, measured) / 3600.0
    return relative_wh + edges_wh + unseen_s * (max(finite_w) - min(finite_w)) / 3600.0


def _edge_power_w(readings: Sequence[Reading], measured: Measurement) -> float:
    """The largest power near either end of the window; of the whole run if nothing was read there."""
    near_s = START_STOP_S + EDGE_UPDATES * measured.setup.update_interval_s
    finite = [reading for reading in readings if math.isfinite(reading.power_w)]
    near = [
        reading
        for reading in finite
        if min(abs(reading.monotonic_s - edge_s) for edge_s in (measured.start_s, measured.end_s)) <= near_s
    ]
    return max(abs(reading.power_w) for reading in near or finite)


def integrator_time(measured: Measurement) -> Check:
    """`integrator-time`: the integrator ran as long as the window lasted."""
    tolerance_s = TIME_RESOLUTION_S + START_STOP_S
    more_s = measured.integrator_s - measured.elapsed_s
    ok = abs(more_s) <= tolerance_s
    sentence = (
        f"The integrator ran {measured.integrator_s:.0f} s, the window lasted {measured.elapsed_s:.3f} s; "
    )
    if ok:
        sentence += f"at most {tolerance_s:.0f} s apart."
    elif more_s > 0:
        sentence += f"the energy is also that of {more_s:.0f} s outside the window."
    elif more_s < 0:
        sentence += f"the energy of {-more_s:.0f} s of the window is missing."
    else:
        sentence += "what the energy covers is not known."
    return Check(
        "integrator-time",
        ok,
        "error",
        sentence,
        {
            "integrator_s": json_ready(measured.integrator_s),
            "window_s": json_ready(measured.elapsed_s),
            "tolerance_s": tolerance_s,
        },
    )
