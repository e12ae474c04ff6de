"""The energy of one inference, from a meter's readings while a model was run again and again. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from power.energy import above_idle_wh, mean_power_w, trapezoid_wh
from power.meter import Identity, IntegratorState, Reading
from referee.errors import RefereeError

LEAST_READINGS = 10
JOULES_BY_WH = 3600.0


def inference_energy(
    readings: Sequence[Reading],
    start_s: float,
    end_s: float,
    inferences: int,
    meter: Identity,
    idle_w: float | None,
) -> dict[str, Any]:
    """The `energy` of a result document: of the loop from `start_s` to `end_s` and of each of its inferences.

    Times are on the clock of the readings. With the idle baseline `idle_w` the energy above idle is included. Raises
    RefereeError `energy-unmeasured`: fewer than ten readings in the loop, one without data, clipped or over range, or
    no power.
    """
    inside = [one for one in readings if start_s <= one.monotonic_s <= end_s]
    if len(inside) < LEAST_READINGS:
        raise _unmeasured(
            f"only {len(inside)} readings fell into its {end_s - start_s:.1f} s; make the loop longer"
        )
    if any(one.over_range or one.voltage_peak_over or one.current_peak_over for one in inside):
        raise _unmeasured("a reading was over range or clipped at its peaks; use larger ranges")
    without_data = [one for one in inside if not math.isfinite(one.power_w)]
    # In a loop only the end of a recording stops the integrator.
    if without_data and without_data[0].state is IntegratorState.TIMEUP:
        raise _unmeasured("the recording ended before the loop did; use one as long as the whole bench")
    if without_data:
        raise _unmeasured("a reading had no data")
    loop_wh = trapezoid_wh(
        [one.monotonic_s for one in readings], [one.power_w for one in readings], start_s, end_s
    )
    if not loop_wh > 0:
        raise _unmeasured(f"the meter read {loop_wh:g} Wh")
    inference_wh, loop_s = loop_wh / inferences, end_s - start_s
    above_wh = None if idle_w is None else above_idle_wh(loop_wh, idle_w, loop_s) / inferences
    return {
        "meter": str(meter),
        "official": meter.official,
        "inferences": inferences,
        "loop_s": loop_s,
        "loop_wh": loop_wh,
        "readings": len(inside),
        "inference_wh": inference_wh,
        "inference_j": inference_wh * JOULES_BY_WH,
        "mean_power_w": mean_power_w(loop_wh, loop_s),
        "idle_power_w": idle_w,
        "inference_above_idle_j": None if above_wh is None else above_wh * JOULES_BY_WH,
    }


def _unmeasured(why: str) -> RefereeError:
    return RefereeError("energy-unmeasured", f"The energy of the loop is not known: {why}.")
