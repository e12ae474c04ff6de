"""Whether the integrator ran through the window without a stop, a reset or a jump, from reading to reading. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from power.energy.integral import START_STOP_S, WH_RESOLUTION, mean_power_w
from power.energy.measurement import TIME_RESOLUTION_S, Check, Measurement, json_ready
from power.meter import IntegratorState, Reading

UPDATES_APART: Final = 2.0
"""A reading may show an update that is one interval older than the question; so may the one before."""
MISSED: Final = 1.5
"""Between readings that are more updates apart, one was missed."""
SPIKE: Final = 2.0
"""How much more than what WH rose by around it one update may show; its energy is a part of that."""
CLOCK_SHARE: Final = 2e-4
"""How much faster or slower than the host's the meter's clock may run."""
LATE_START_S: Final = 0.5
"""A meter that says it integrates may begin at its next update, but not later than this."""
TIMER_S: Final = 2.0
"""So near to its end a window may find that the timer has ended the integrator."""
Fault = tuple[float, str, float]
"""When, what, and the energy that it may have cost."""


def integrator_stopped(inside: Sequence[Reading], measured: Measurement) -> Check:
    """`integrator-stopped`: the integrator runs in every reading; only its timer may have ended it."""
    stopped = [one for one in inside if not _runs(one, measured)]
    figures: dict[str, float | int | None] = {"stopped": len(stopped), "readings": len(inside)}
    sentence = f"The integrator ran in every reading, of {len(inside)} in all."
    if stopped:
        missing_wh = energy_wh(inside, stopped)
        first_s, last_s = (stopped[place].monotonic_s - measured.start_s for place in (0, -1))
        states = ", ".join(sorted({one.state.value for one in stopped}))
        sentence = (
            f"The integrator did not run ({states}) in {len(stopped)} of {len(inside)} readings, from {first_s:.1f} s "
            f"to {last_s:.1f} s of the window: some {missing_wh:.3g} Wh are missing, and all before a reset."
        )
        figures |= {"first_s": first_s, "last_s": last_s, "missing_wh": json_ready(missing_wh)}
    return Check("integrator-stopped", not stopped, "error", sentence, figures)


def energy_wh(inside: Sequence[Reading], some: Sequence[Reading]) -> float:
    """Return the energy of some of the readings: what each shows, over the time since the reading before it."""
    wanted = {id(one) for one in some if math.isfinite(one.power_w)}
    steps = ((after, after.monotonic_s - before.monotonic_s) for before, after in pairwise(inside))
    return math.fsum(one.power_w * pause_s for one, pause_s in steps if id(one) in wanted) / 3600.0


def _runs(reading: Reading, measured: Measurement) -> bool:
    if reading.state is not IntegratorState.TIMEUP:
        return reading.state is IntegratorState.START
    ran_out = 0 < measured.setup.integrator_timer_s <= reading.integrator_s + TIME_RESOLUTION_S
    return ran_out or reading.monotonic_s >= measured.end_s - TIMER_S


def integrator_steps(inside: Sequence[Reading], measured: Measurement) -> Check:
    """`integrator-steps`: from reading to reading WH and TIME rise as the power and the host's clock say."""
    seen = [one for one in inside if math.isfinite(one.energy_wh) and math.isfinite(one.integrator_s)]
    faults = sorted((*_energy_faults(seen, measured), *_time_faults(seen, measured)))
    figures: dict[str, float | int | None] = {"faults": len(faults), "readings": len(seen)}
    sentence = f"WH and TIME rose as they should, in {len(seen)} readings."
    if faults:
        at_s, cost_wh = faults[0][0] - measured.start_s, max(fault[2] for fault in faults)
        sentence = f"At {at_s:.1f} s of the window {faults[0][1]}; it may have cost {cost_wh:.3g} Wh."
        if len(faults) > 1:
            sentence += f" {len(faults) - 1} more such steps follow."
        figures |= {"first_s": at_s, "cost_wh": json_ready(cost_wh)}
    return Check("integrator-steps", not faults, "error", sentence, figures)


def _energy_faults(seen: Sequence[Reading], measured: Measurement) -> Iterator[Fault]:
    """WH that falls, rises by more than the powers around it could, or by less than one update that was read."""
    interval_s = measured.setup.update_interval_s
    least_w = min((one.power_w for one in seen if math.isfinite(one.power_w)), default=0.0)
    stop_s = START_STOP_S if measured.start_stop_s is None else measured.start_stop_s
    stop_s += measured.end_s + max(measured.integrator_s - measured.elapsed_s, 0.0)  # it may have run on
    sums = [*((one.monotonic_s, one.energy_wh) for one in seen), (stop_s, measured.integrator_wh)]
    for place, ((before_s, before_wh), (after_s, after_wh)) in enumerate(pairwise(sums)):
        powers_w = [one.power_w for one in seen[place : place + 3]]
        known = (
            len(powers_w) > 1
            and after_s - before_s <= MISSED * interval_s
            and all(map(math.isfinite, powers_w))
        )
        most_w = max(0.0, *powers_w) if known else measured.most_w
        span_h = (after_s - before_s + UPDATES_APART * interval_s) / 3600.0
        grown_wh, resolution_wh = after_wh - before_wh, WH_RESOLUTION * max(abs(before_wh), abs(after_wh))
        at_s = min(after_s, measured.end_s)
        if grown_wh < min(least_w, 0.0) * span_h - resolution_wh:
            yield at_s, f"WH fell from {before_wh:.6g} to {after_wh:.6g}", -grown_wh
        elif grown_wh > most_w * span_h + resolution_wh:
            more_wh = grown_wh - most_w * span_h
            yield at_s, f"WH rose from {before_wh:.6g} to {after_wh:.6g}, too fast for the power", more_wh
        around_wh = after_wh - sums[max(place - 1, 0)][1]
        shown_wh = seen[place].power_w * interval_s / 3600.0
        inner = place > 0 and before_s < measured.end_s - TIMER_S
        if inner and resolution_wh + SPIKE * max(around_wh, 0.0) < shown_wh < math.inf:
            words = f"{seen[place].power_w:.4g} W were read while WH rose by {around_wh:.3g}"
            yield before_s, words, shown_wh - around_wh


def _time_faults(seen: Sequence[Reading], measured: Measurement) -> Iterator[Fault]:
    """TIME that falls, or falls behind the host's clock by more than its resolution can hide.

    The update that a reading shows was made between one interval before the question for it and the next question, and
    TIME then is known to a second: so each reading bounds when the integrator started, if it never stopped.
    """
    interval_s, drift_s = measured.setup.update_interval_s, CLOCK_SHARE * measured.elapsed_s
    watts = mean_power_w(measured.integrator_wh, measured.elapsed_s)
    latest_s = measured.start_s + min(interval_s, LATE_START_S)
    for before, reading, until_s in zip(
        (None, *seen), seen, (*(one.monotonic_s for one in seen[1:]), measured.end_s), strict=False
    ):
        at_s, time_s = reading.monotonic_s, reading.integrator_s
        if reading.state is not IntegratorState.START:
            continue
        lag_s = at_s - interval_s - TIME_RESOLUTION_S - time_s - drift_s - latest_s
        if before is not None and time_s < before.integrator_s:
            yield at_s, f"TIME fell from {before.integrator_s:.0f} s to {time_s:.0f} s", abs(before.energy_wh)
        elif lag_s > 0:
            yield (
                at_s,
                f"TIME stood still for {lag_s:.1f} s or more",
                (lag_s + TIME_RESOLUTION_S) * watts / 3600.0,
            )
        else:
            latest_s = min(latest_s, until_s - time_s)
            continue
        latest_s = until_s - time_s  # each loss is reported once
    end_s = min(measured.end_s, measured.start_s + (measured.setup.integrator_timer_s or math.inf))
    lag_s = end_s - TIME_RESOLUTION_S - measured.integrator_s - drift_s - latest_s
    if lag_s > 0:
        yield (
            end_s,
            f"TIME stood still for {lag_s:.1f} s or more",
            (lag_s + TIME_RESOLUTION_S) * watts / 3600.0,
        )
