"""Checks that the integrator neither stops, resets nor jumps between two readings. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from lpirc_power.energy.continuity import has_sums
from lpirc_power.energy.integral import TIME_TOLERANCE_S, UNSEEN_UPDATES, WH_RESOLUTION
from lpirc_power.energy.measurement import TIME_RESOLUTION_S, Check, Measurement, check
from lpirc_power.energy.reading_columns import chosen
from lpirc_power.meter import IntegratorState, Reading

UPDATES_BESIDE: Final = 2.0
"""Maximum number of updates in a rise of WH that lie outside the pause: one before it and one after it."""
LEAST_SHARE: Final = 0.5
"""Least rise of WH in an update, relative to the energy at the least power around it."""
SPIKE: Final = 2.0
"""An update is a spike if its energy is more than this many times the rise of WH around it."""
CLOCK_SHARE: Final = 2e-4
"""Largest relative difference between the meter's clock and the host's."""
Fault = tuple[float, str, float]
"""Fault: its time, its description, and the energy that it may have cost in Wh."""


def integrator_stopped(inside: Sequence[Reading], measured: Measurement) -> Check:
    """`integrator-stopped`: the integrator runs in and between all readings, unless its timer has ended it."""
    stopped = [one for one in inside if not _runs(one, measured)]
    figures: dict[str, float] = {"stopped": len(stopped), "readings": len(inside)}
    sentence = f"The integrator ran in every reading, of {len(inside)} in all."
    if stopped:
        missing_wh = energy_wh(inside, stopped)
        first_s, last_s = (
            stopped[place].monotonic_s - measured.start_s for place in (0, -1)
        )
        states = ", ".join(sorted({_stop(one) for one in stopped}))
        was_reset = any(one.state is IntegratorState.RESET for one in stopped)
        before_reset = ", and all energy before the reset" if was_reset else ""
        sentence = (
            f"The integrator did not run ({states}) in {len(stopped)} of {len(inside)} readings, from {first_s:.1f} s "
            f"to {last_s:.1f} s of the window: some {missing_wh:.3g} Wh are missing{before_reset}."
        )
        figures |= {"first_s": first_s, "last_s": last_s, "missing_wh": missing_wh}
    return check("integrator-stopped", not stopped, "error", sentence, **figures)


def energy_wh(inside: Sequence[Reading], some: Sequence[Reading]) -> float:
    """Return the energy in Wh of `some` of the readings: power x time since the previous reading."""
    # Not by identity: readings in columns are made anew each time they are looked at.
    wanted = {one.monotonic_s for one in some if math.isfinite(one.power_w)}
    steps = (
        (after, after.monotonic_s - before.monotonic_s)
        for before, after in pairwise(inside)
    )
    return (
        math.fsum(
            one.power_w * pause_s for one, pause_s in steps if one.monotonic_s in wanted
        )
        / 3600.0
    )


def ended_early(inside: Sequence[Reading], measured: Measurement) -> str:
    """Say since when the integrator did not run, as the end of a sentence; empty if it ran to its end."""
    for one in inside:
        if not _runs(one, measured):
            at_s = one.monotonic_s - measured.start_s
            if one.state is IntegratorState.ERROR:
                return f"the counter began anew, or the meter's power failed, by {at_s:.1f} s of the window"
            return f"the integrator did not run at {at_s:.1f} s of the window ({_stop(one)})"
    return ""


def _runs(reading: Reading, measured: Measurement) -> bool:
    if reading.state is not IntegratorState.TIMEUP:
        return reading.state is IntegratorState.START and not reading.stopped
    ran_out = (
        0
        < measured.setup.integrator_timer_s
        <= reading.integrator_s + TIME_RESOLUTION_S
    )
    return ran_out or reading.monotonic_s >= measured.end_s - TIME_TOLERANCE_S


def _stop(reading: Reading) -> str:
    return (
        "stopped and restarted"
        if reading.state is IntegratorState.START
        else reading.state.value
    )


def integrator_steps(inside: Sequence[Reading], measured: Measurement) -> Check:
    """`integrator-steps`: from reading to reading, WH rises as the power implies and TIME as the host's clock does."""
    seen = chosen(inside, has_sums)
    faults = sorted((*_energy_faults(seen, measured), *_time_faults(seen, measured)))
    figures: dict[str, float] = {"faults": len(faults), "readings": len(seen)}
    sentence = f"WH and TIME rose as they should, in {len(seen)} readings."
    if faults:
        at_s = faults[0][0] - measured.start_s
        cost_wh = max(fault[2] for fault in faults)
        cost = "what it cost is unknown"
        if math.isfinite(cost_wh):
            cost = f"it may have cost {cost_wh:.3g} Wh"
        sentence = (
            f"WH or TIME are implausible in {len(faults)} steps between readings, the first at {at_s:.1f} s of the "
            f"window, where {faults[0][1]}; {cost}."
        )
        figures |= {"first_s": at_s, "cost_wh": cost_wh}
    return check("integrator-steps", not faults, "error", sentence, **figures)


@dataclass(frozen=True)
class _Step:
    """WH at two consecutive readings, and the readings around it: the first of the two and up to two after it.

    `longest_s` is the longest time that the difference in WH can cover, and each value may be `age_s` old.
    """

    before_s: float
    before_wh: float
    after_s: float
    after_wh: float
    longest_s: float
    age_s: float
    around: Sequence[Reading]

    @property
    def grown_wh(self) -> float:
        """Return the difference in WH."""
        return self.after_wh - self.before_wh

    @property
    def resolution_wh(self) -> float:
        """Return the resolution of the larger of both values."""
        return WH_RESOLUTION * max(abs(self.before_wh), abs(self.after_wh))

    @property
    def is_known(self) -> bool:
        """Return True if at least two readings around the step have a power, and none lacks it."""
        powers_w = [one.power_w for one in self.around]
        return len(powers_w) > 1 and all(map(math.isfinite, powers_w))


def _energy_faults(seen: Sequence[Reading], measured: Measurement) -> Iterator[Fault]:
    """Yield the faults of WH: it falls, rises by more or less than the power implies, or lacks a shown power."""
    powers_w = [one.power_w for one in seen if math.isfinite(one.power_w)]
    least_w = min([0.0, *powers_w])  # below 0 for a source
    earlier_wh = math.nan
    for step in _steps(seen, measured):
        yield from _rise_faults(step, measured, least_w)
        if not math.isnan(earlier_wh):
            yield from _spikes(step, measured, step.after_wh - earlier_wh)
        earlier_wh = step.before_wh


def _steps(seen: Sequence[Reading], measured: Measurement) -> Iterator[_Step]:
    """Yield the steps from reading to reading; the last one leads to the integrator's final value."""
    interval_s = measured.setup.update_interval_s
    age_s = measured.age_s(seen)
    ran_on_s = max(measured.integrator_s - measured.elapsed_s, 0.0)
    stop_s = measured.start_stop_at_most_s + (measured.end_s + ran_on_s)
    sums = [
        *((one.monotonic_s, one.energy_wh) for one in seen),
        (stop_s, measured.integrator_wh),
    ]
    # On a busy host an answer may be late. Its values are certainly older than the next query.
    untils_s = [*(at_s for at_s, _ in sums[2:]), stop_s + interval_s]
    for place, (before, after) in enumerate(pairwise(sums)):
        longest_s = untils_s[place] - before[0] + interval_s + age_s
        yield _Step(*before, *after, longest_s, age_s, seen[place : place + 3])


def _rise_faults(
    step: _Step,
    measured: Measurement,
    least_w: float,
) -> Iterator[Fault]:
    """Yield the fault of a step in which WH rises by more or less than the power implies."""
    interval_s = measured.setup.update_interval_s
    pause_s = step.after_s - step.before_s
    known = step.is_known and pause_s <= UNSEEN_UPDATES * interval_s
    longest_known_s = (UPDATES_BESIDE + UNSEEN_UPDATES) * interval_s + step.age_s
    most_w = measured.most_w
    if known and step.longest_s <= longest_known_s:
        most_w = max(0.0, *(one.power_w for one in step.around))
    most_wh = most_w * step.longest_s / 3600.0
    least_wh = least_w * step.longest_s / 3600.0
    if known and least_wh == 0.0 and _integrates(step, measured):
        around_w = min(one.power_w for one in step.around)
        # A counter that is read twice between its own updates does not move.
        least_s = max(min(pause_s, interval_s) - step.age_s, 0.0)
        least_wh = LEAST_SHARE * around_w * least_s / 3600.0
    grown_wh = step.grown_wh
    at_s = min(step.after_s, measured.end_s)
    words = f"WH goes from {step.before_wh:.6g} to {step.after_wh:.6g}"
    if grown_wh < least_wh - step.resolution_wh:
        yield at_s, words, most_wh - grown_wh if known else -grown_wh
    elif grown_wh > most_wh + step.resolution_wh:
        yield at_s, words, grown_wh - most_wh


def _integrates(step: _Step, measured: Measurement) -> bool:
    """Return True if the integrator certainly runs during the whole step."""
    runs = all(one.state is IntegratorState.START for one in step.around)
    # The last rows may be later than the end set by the timer.
    is_before_end = step.after_s < measured.end_s - TIME_TOLERANCE_S
    # A meter need not begin an update when integration starts: the first update may be only partly integrated.
    is_first = step.before_wh == 0.0
    return runs and is_before_end and not is_first


def _spikes(step: _Step, measured: Measurement, around_wh: float) -> Iterator[Fault]:
    """Yield a fault if a reading shows more power than WH can contain, given its rise `around_wh` at that time."""
    interval_s = measured.setup.update_interval_s
    shown_w = step.around[0].power_w
    shown_wh = shown_w * max(interval_s - step.age_s, 0.0) / 3600.0
    is_last = step.after_s >= measured.end_s - TIME_TOLERANCE_S
    ended = around_wh <= step.resolution_wh and is_last
    # The timer may end in the middle of an update.
    ended = ended or step.after_s + interval_s >= _earliest_timer_end_s(measured)
    largest_wh = step.resolution_wh + SPIKE * max(around_wh, 0.0)
    if not ended and largest_wh < shown_wh < math.inf:
        words = f"WH rises by only {around_wh:.3g} around a reading of {shown_w:.4g} W"
        yield step.before_s, words, shown_wh - around_wh


def _earliest_timer_end_s(measured: Measurement) -> float:
    """Return the earliest time at which the timer may have ended the integrator, which starts before the window."""
    timer_s = measured.setup.integrator_timer_s or math.inf
    return measured.start_s - measured.start_stop_at_most_s + timer_s


def _time_faults(seen: Sequence[Reading], measured: Measurement) -> Iterator[Fault]:
    """Yield each time at which TIME falls behind the host's clock by more than its resolution explains.

    The cause is a reset, a stop or a jump. A reading's update was made no earlier than one interval before its query
    and no later than the next query, and its TIME is known to a second. If the integrator never stopped, each reading
    thus bounds the time of its start.
    """
    interval_s = measured.setup.update_interval_s
    age_s = measured.age_s(seen)
    asked_s = [*(one.monotonic_s for one in seen), measured.end_s]
    bounds = [
        (
            asked_s[place],
            asked_s[place] - interval_s - age_s - one.integrator_s,
            asked_s[place + 1] - one.integrator_s,
        )
        for place, one in enumerate(seen)
        if one.state is IntegratorState.START
    ]
    end_s = min(
        measured.end_s,
        measured.start_s + (measured.setup.integrator_timer_s or math.inf),
    )
    bounds.append((end_s, end_s - age_s - measured.integrator_s, math.inf))
    latest_s = (
        measured.start_s + interval_s
    )  # a meter may begin to integrate at its next update
    for at_s, earliest_s, by_s in bounds:
        lag_s = (
            earliest_s - TIME_RESOLUTION_S - CLOCK_SHARE * measured.elapsed_s - latest_s
        )
        latest_s = min(latest_s, by_s)
        if lag_s > 0:
            cost_wh = (
                lag_s * measured.integrator_wh / max(measured.elapsed_s - lag_s, lag_s)
            )
            yield at_s, f"TIME is {lag_s:.1f} s or more behind", cost_wh
            latest_s = by_s  # each loss counts once
