"""Energy of one inference, from a meter's readings while a model was run again and again. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from lpirc_power.energy.integral import above_idle_wh, mean_power_w, trapezoid_wh
from lpirc_power.errors import EnergyUnmeasured
from lpirc_power.meter import Identity, Reading
from lpirc_power.meter_standing import counts_by_identity

LEAST_READINGS = 10
LONGEST_PAUSE_S = 2.0
JOULES_BY_WH = 3600.0


def inference_energy(
    readings: Sequence[Reading],
    start_s: float,
    end_s: float,
    inferences: int,
    meter: Identity,
    idle_w: float | None,
) -> dict[str, Any]:
    """Return the `energy` of a result document: for the loop from `start_s` to `end_s`, and per inference.

    Times are on the clock of the readings. With the idle baseline `idle_w` the result includes the energy above idle.
    Raises EnergyUnmeasured if the loop has fewer than ten readings, two seconds without a reading, or no power, or if a
    reading has no data, is clipped, is over range or shows a changed setting.
    """
    inside = [one for one in readings if start_s <= one.monotonic_s <= end_s]
    times_s = [one.monotonic_s for one in inside]
    if len(inside) < LEAST_READINGS:
        length = f"its {end_s - start_s:.1f} s"
        raise _unmeasured(
            f"only {len(inside)} readings fell into {length}; make the loop longer"
        )
    if any(
        one.over_range or one.voltage_peak_over or one.current_peak_over
        for one in inside
    ):
        raise _unmeasured(
            "a reading was over range or clipped at its peaks; use larger ranges"
        )
    changed = next((one.changed for one in inside if one.changed), None)
    if changed:
        raise _unmeasured(
            f"the meter's settings changed during the loop ({changed}); do not use its panel"
        )
    if any(not math.isfinite(one.power_w) for one in inside):
        raise _unmeasured("a reading had no data")
    pause_s = max(
        after - before for before, after in pairwise([start_s, *times_s, end_s])
    )
    if pause_s > LONGEST_PAUSE_S:
        raise _unmeasured(
            f"nothing was read for {pause_s:.1f} s of the loop; check the meter's cable"
        )
    at_s, power_w = zip(
        *((one.monotonic_s, one.power_w) for one in readings), strict=True
    )
    loop_wh = trapezoid_wh(at_s, power_w, start_s, end_s)
    if not loop_wh > 0:
        raise _unmeasured(f"the meter read {loop_wh:g} Wh")
    inference_wh = loop_wh / inferences
    loop_s = end_s - start_s
    above_wh = (
        None if idle_w is None else above_idle_wh(loop_wh, idle_w, loop_s) / inferences
    )
    return {
        "meter": str(meter),
        "official": counts_by_identity(meter),
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


def _unmeasured(why: str) -> EnergyUnmeasured:
    return EnergyUnmeasured(f"The energy of the loop is not known: {why}.")
