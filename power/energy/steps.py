"""Whether the integrator ran through the window without a stop, a reset or a jump, from reading to reading. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from power.energy.integral import START_STOP_S, WH_RESOLUTION, mean_power_w
from power.energy.measurement import TIME_RESOLUTION_S, Check, Measurement, json_ready
from power.meter import IntegratorState, Reading

UPDATES_APART: Final = 2.0
"""What was read may be an update older than the question for it, at either end of a step."""
MISSED: Final = 1.5
"""In a step of more updates than this, one was missed."""
SPIKE: Final = 2.0
"""How much more than two steps of WH an update's energy may be; it is a part of theirs."""
CLOCK_SHARE: Final = 2e-4
"""How much faster or slower than the host's the meter's clock may run."""
LATE_START_S: Final = 0.5
"""How long after it says that it integrates a meter may begin to, at most: at its next update."""
TIMER_S: Final = 2.0
"""So near to its end a window may find that the timer has ended the integrator."""


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
    """Return the energy of the updates of some readings: what they show over the time since the reading before."""
    wanted = {id(one) for one in some}
    return (
        math.fsum(
            later.power_w * (later.monotonic_s - earlier.monotonic_s)
            for earlier, later in pairwise(inside)
            if id(later) in wanted and math.isfinite(later.power_w)
        )
        / 3600.0
    )


def _runs(reading: Reading, measured: Measurement) -> bool:
    if reading.state is not IntegratorState.TIMEUP:
        return reading.state is IntegratorState.START
    timer_s = measured.setup.integrator_timer_s
    ran_s = reading.integrator_s + TIME_RESOLUTION_S
    return 0 < timer_s <= ran_s or reading.monotonic_s >= measured.end_s - TIMER_S


@dataclass(frozen=True)
class _Fault:
    """What does not fit: when, what, and the energy that it may have cost."""

    at_s: float
    words: str
    cost_wh: float


def integrator_steps(inside: Sequence[Reading], measured: Measurement) -> Check:
    """`integrator-steps`: from reading to reading WH and TIME rise, as the power and the host's clock say."""
    seen = [one for one in inside if math.isfinite(one.energy_wh) and math.isfinite(one.integrator_s)]
    faults = [*_energy_faults(seen, measured), *_time_faults(seen, measured)]
    faults.sort(key=lambda fault: fault.at_s)
    cost_wh = max((fault.cost_wh for fault in faults), default=0.0)
    sentence = f"WH and TIME rose as they should, in {len(seen)} readings."
    figures: dict[str, float | int | None] = {"faults": len(faults), "readings": len(seen)}
    if faults:
        first = faults[0]
        at_s = first.at_s - measured.start_s
        sentence = (
            f"At {at_s:.1f} s of the window {first.words}; up to {cost_wh:.3g} Wh may be missing or too much."
        )
        if len(faults) > 1:
            sentence += f" {len(faults) - 1} more such steps follow."
        figures |= {"first_s": at_s, "cost_wh": json_ready(cost_wh)}
    return Check("integrator-steps", not faults, "error", sentence, figures)


def _energy_faults(seen: Sequence[Reading], measured: Measurement) -> list[_Fault]:
    """WH that falls, rises by more than the powers around it could, or by less than one power that was read."""
    faults: list[_Fault] = []
    interval_s = measured.setup.update_interval_s
    slack_s = UPDATES_APART * interval_s
    negative_w = max((-one.power_w for one in seen if math.isfinite(one.power_w)), default=0.0)
    for place, (before, after) in enumerate(pairwise(seen)):
        pause_s = after.monotonic_s - before.monotonic_s
        around = [one.power_w for one in seen[place : place + 3]]
        known = pause_s <= MISSED * interval_s and all(map(math.isfinite, around))
        most_w = max(0.0, *around) if known else measured.most_w
        least_wh = -max(negative_w, 0.0) * (pause_s + slack_s) / 3600.0
        grown = _grown(before.energy_wh, after.energy_wh, least_wh, most_w * (pause_s + slack_s) / 3600.0)
        if grown:
            faults.append(_Fault(after.monotonic_s, *grown))
    for before, reading, after in zip(seen, seen[1:], seen[2:], strict=False):
        shown_wh, grown_wh = reading.power_w * interval_s / 3600.0, after.energy_wh - before.energy_wh
        if reading.state is after.state is IntegratorState.START and math.isfinite(shown_wh):
            resolution_wh = WH_RESOLUTION * abs(after.energy_wh)
            if shown_wh > SPIKE * max(grown_wh, 0.0) + resolution_wh and grown_wh >= -resolution_wh:
                words = f"{reading.power_w:.4g} W were read, while WH rose by {grown_wh:.3g}"
                faults.append(_Fault(reading.monotonic_s, words, shown_wh - grown_wh))
    if seen:
        rest_s = max(measured.end_s - seen[-1].monotonic_s, 0.0) + slack_s
        rest_s += START_STOP_S if measured.start_stop_s is None else measured.start_stop_s
        rest_s += max(measured.integrator_s - measured.elapsed_s, 0.0)  # a meter that was stopped late
        least_wh, most_wh = (-max(negative_w, 0.0) * rest_s / 3600.0, measured.most_w * rest_s / 3600.0)
        if grown := _grown(seen[-1].energy_wh, measured.integrator_wh, least_wh, most_wh):
            faults.append(_Fault(measured.end_s, *grown))
    return faults


def _grown(before_wh: float, after_wh: float, least_wh: float, most_wh: float) -> tuple[str, float] | None:
    """Return how the energy grew, and by how much too little or too much; None if it may have grown so."""
    resolution_wh = WH_RESOLUTION * max(abs(before_wh), abs(after_wh))
    grown_wh = after_wh - before_wh
    if grown_wh < least_wh - resolution_wh:
        return f"WH fell from {before_wh:.6g} to {after_wh:.6g}", before_wh - after_wh
    if grown_wh > most_wh + resolution_wh:
        return f"WH rose from {before_wh:.6g} to {after_wh:.6g}, too fast for the power", grown_wh - most_wh
    return None


def _time_faults(seen: Sequence[Reading], measured: Measurement) -> list[_Fault]:
    """TIME that falls, stands still or runs ahead of the host's clock, by more than its resolution can hide.

    The moment of an update lies between an interval before the question for it and the next question; TIME then is
    known to a second. So each reading bounds when the integrator would have started if it never stopped.
    """
    interval_s, drift_s = measured.setup.update_interval_s, CLOCK_SHARE * measured.elapsed_s
    mean_w = mean_power_w(measured.integrator_wh, measured.elapsed_s)
    faults: list[_Fault] = []
    latest_s = measured.start_s + min(interval_s, LATE_START_S)
    untils_s = [*(one.monotonic_s for one in seen[1:]), measured.end_s]
    for place, (reading, until_s) in enumerate(zip(seen, untils_s, strict=False)):
        if reading.state is not IntegratorState.START:
            continue
        if place and reading.integrator_s < seen[place - 1].integrator_s:
            before = seen[place - 1]
            words = f"TIME fell from {before.integrator_s:.0f} s to {reading.integrator_s:.0f} s"
            faults.append(_Fault(reading.monotonic_s, words, abs(before.energy_wh)))
            latest_s = math.inf
        earliest_s = reading.monotonic_s - interval_s - TIME_RESOLUTION_S - reading.integrator_s
        if (lag_s := earliest_s - drift_s - latest_s) > 0:
            faults.append(_Fault(reading.monotonic_s, *_stood_still(lag_s, mean_w)))
            latest_s = math.inf
        latest_s = min(latest_s, until_s - reading.integrator_s)
    end_s = min(measured.end_s, measured.start_s + (measured.setup.integrator_timer_s or math.inf))
    lag_s = end_s - TIME_RESOLUTION_S - measured.integrator_s - drift_s - latest_s
    if lag_s > 0:
        faults.append(_Fault(measured.end_s, *_stood_still(lag_s, mean_w)))
    return faults


def _stood_still(lag_s: float, mean_w: float) -> tuple[str, float]:
    return f"TIME is {lag_s:.1f} s and more behind the clock", (lag_s + TIME_RESOLUTION_S) * mean_w / 3600.0
