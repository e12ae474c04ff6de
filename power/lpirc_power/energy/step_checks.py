"""Checks that the integrator neither stops, resets nor jumps between two readings. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from lpirc_power.energy.integral import TIME_TOLERANCE_S, UNSEEN_UPDATES, WH_RESOLUTION
from lpirc_power.energy.measurement import TIME_RESOLUTION_S, Check, Measurement, check
from lpirc_power.energy.reading_columns import Column, chosen, column
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
    stopped = chosen(inside, ~_runs(inside, measured))
    figures: dict[str, float] = {"stopped": len(stopped), "readings": len(inside)}
    sentence = f"The integrator ran in every reading, of {len(inside)} in all."
    if stopped:
        missing_wh = energy_wh(inside, stopped)
        first_s, last_s = (
            stopped[place].monotonic_s - measured.start_s for place in (0, -1)
        )
        found = {*column(stopped, "state")}
        states = ", ".join(sorted(map(_stop, found)))
        was_reset = IntegratorState.RESET in found
        before_reset = ", and all energy before the reset" if was_reset else ""
        sentence = (
            f"The integrator did not run ({states}) in {len(stopped)} of {len(inside)} readings, from {first_s:.1f} s "
            f"to {last_s:.1f} s of the window: some {missing_wh:.3g} Wh are missing{before_reset}."
        )
        figures |= {"first_s": first_s, "last_s": last_s, "missing_wh": missing_wh}
    return check("integrator-stopped", not stopped, "error", sentence, **figures)


def energy_wh(inside: Sequence[Reading], some: Sequence[Reading]) -> float:
    """Return the energy in Wh of `some` of the readings: power x time since the previous reading."""
    times_s = column(inside, "monotonic_s")
    powers_w = column(inside, "power_w")[1:]
    # Not by identity: readings in columns are made anew each time they are looked at.
    wanted_s = column(some, "monotonic_s")[np.isfinite(column(some, "power_w"))]
    is_wanted = np.isin(times_s[1:], wanted_s) & np.isfinite(powers_w)
    energies_j = powers_w[is_wanted] * np.diff(times_s)[is_wanted]
    return math.fsum(energies_j.tolist()) / 3600.0


def ended_early(inside: Sequence[Reading], measured: Measurement) -> str:
    """Say since when the integrator did not run, as the end of a sentence; empty if it ran to its end."""
    stopped = chosen(inside, ~_runs(inside, measured))
    if not stopped:
        return ""
    at_s = stopped[0].monotonic_s - measured.start_s
    state = stopped[0].state
    if state is IntegratorState.ERROR:
        return f"the counter began anew, or the meter's power failed, by {at_s:.1f} s of the window"
    return f"the integrator did not run at {at_s:.1f} s of the window ({_stop(state)})"


def _runs(inside: Sequence[Reading], measured: Measurement) -> Column:
    """Return in which readings (N,) the integrator runs, or has been ended by its timer."""
    states = column(inside, "state")
    timer_s = measured.setup.integrator_timer_s
    ends_s = column(inside, "integrator_s") + TIME_RESOLUTION_S
    has_run_out = (timer_s > 0) & (timer_s <= ends_s)
    is_at_end = column(inside, "monotonic_s") >= measured.end_s - TIME_TOLERANCE_S
    is_running = (states == IntegratorState.START) & ~column(inside, "stopped")
    is_timer = (states == IntegratorState.TIMEUP) & (has_run_out | is_at_end)
    return np.asarray(is_running | is_timer)


def _stop(state: IntegratorState) -> str:
    return "stopped and restarted" if state is IntegratorState.START else state.value


def integrator_steps(inside: Sequence[Reading], measured: Measurement) -> Check:
    """`integrator-steps`: from reading to reading, WH rises as the power implies and TIME as the host's clock does."""
    has_wh = np.isfinite(column(inside, "energy_wh"))
    has_time = np.isfinite(column(inside, "integrator_s"))
    seen = chosen(inside, has_wh & has_time)
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
class _Steps:
    """The rises of WH in columns (N,): from each reading to the next one, and from the last one to the final value.

    `longest_s` is the longest time that a rise can cover, and each value may be `age_s` old. `around_w` (N, 3) has the
    powers of the readings around a step: the first of it and the two after it; `runs` says that the integrator runs in
    all of them.
    """

    before_s: Column
    after_s: Column
    before_wh: Column
    after_wh: Column
    longest_s: Column
    around_w: Column
    runs: Column
    age_s: float

    @property
    def grown_wh(self) -> Column:
        """Return the rises of WH."""
        return self.after_wh - self.before_wh

    def are_repeats(self, interval_s: float) -> Column:
        """Return True where the later reading shows the earlier one's values, which were those of two updates.

        A meter says that it has updated, and then which values it has. On a busy host the next update may come between
        the two: its values are read at once, and again when it is announced.
        """
        powers_w = self.around_w[:, 0]
        earlier_wh = np.append(0.0, self.grown_wh[:-1])
        of_both_wh = (1.0 + LEAST_SHARE) * powers_w * interval_s / 3600.0
        is_same = (self.grown_wh == 0.0) & (powers_w == self.around_w[:, 1])
        return np.asarray(is_same & (earlier_wh >= of_both_wh))

    @property
    def resolution_wh(self) -> Column:
        """Return the resolutions of the larger of both values."""
        larger_wh = np.maximum(np.abs(self.before_wh), np.abs(self.after_wh))
        return WH_RESOLUTION * larger_wh

    @property
    def is_known(self) -> Column:
        """Return True where at least two readings around the step have a power, and none lacks it."""
        known = np.asarray(np.isfinite(self.around_w).all(axis=1))
        known[-1] = False
        return known


def _energy_faults(seen: Sequence[Reading], measured: Measurement) -> Iterator[Fault]:
    """Yield the faults of WH: it falls, rises by more or less than the power implies, or lacks a shown power."""
    if not seen:
        return
    steps = _steps(seen, measured)
    powers_w = column(seen, "power_w")
    finite_w = powers_w[np.isfinite(powers_w)]
    least_w = float(np.min(finite_w, initial=0.0))  # below 0 for a source
    yield from _rise_faults(steps, measured, least_w)
    yield from _spikes(steps, measured)


def _steps(seen: Sequence[Reading], measured: Measurement) -> _Steps:
    """Return the steps from reading to reading; the last one leads to the integrator's final value."""
    interval_s = measured.setup.update_interval_s
    age_s = measured.age_s(seen)
    ran_on_s = max(measured.integrator_s - measured.elapsed_s, 0.0)
    stop_s = measured.start_stop_at_most_s + (measured.end_s + ran_on_s)
    times_s = np.append(column(seen, "monotonic_s"), stop_s)
    sums_wh = np.append(column(seen, "energy_wh"), measured.integrator_wh)
    # On a busy host an answer may be late. Its values are certainly older than the next query.
    untils_s = np.append(times_s[2:], stop_s + interval_s)
    is_running = column(seen, "state") == IntegratorState.START
    return _Steps(
        before_s=times_s[:-1],
        after_s=times_s[1:],
        before_wh=sums_wh[:-1],
        after_wh=sums_wh[1:],
        longest_s=untils_s - times_s[:-1] + interval_s + age_s,
        around_w=_around(column(seen, "power_w")),
        runs=np.asarray(_around(is_running).all(axis=1)),
        age_s=age_s,
    )


def _around(values: Column) -> Column:
    """Return each value and the two after it (N, 3); the last one stands for those that would be behind it."""
    padded = np.append(values, values[[-1, -1]])
    return np.lib.stride_tricks.sliding_window_view(padded, 3)


def _rise_faults(
    steps: _Steps, measured: Measurement, least_w: float
) -> Iterator[Fault]:
    """Yield the faults of steps in which WH rises by more or less than the power implies."""
    interval_s = measured.setup.update_interval_s
    pauses_s = steps.after_s - steps.before_s
    known = steps.is_known & (pauses_s <= UNSEEN_UPDATES * interval_s)
    longest_known_s = (UPDATES_BESIDE + UNSEEN_UPDATES) * interval_s + steps.age_s
    is_bounded = known & (steps.longest_s <= longest_known_s)
    around_w = np.maximum(steps.around_w.max(axis=1), 0.0)
    most_w = np.where(is_bounded, around_w, measured.most_w)
    most_wh = most_w * steps.longest_s / 3600.0
    least_wh = least_w * steps.longest_s / 3600.0
    # A counter that is read twice between its own updates does not move.
    least_s = np.maximum(np.minimum(pauses_s, interval_s) - steps.age_s, 0.0)
    drawn_wh = LEAST_SHARE * steps.around_w.min(axis=1) * least_s / 3600.0
    is_drawn = known & (least_wh == 0.0) & _integrates(steps, measured)
    if not measured.is_before_budgets:
        is_drawn &= ~steps.are_repeats(interval_s)
    least_wh = np.where(is_drawn, drawn_wh, least_wh)
    grown_wh = steps.grown_wh
    is_low = grown_wh < least_wh - steps.resolution_wh
    is_high = ~is_low & (grown_wh > most_wh + steps.resolution_wh)
    lost_wh = np.where(known, most_wh - grown_wh, -grown_wh)
    costs_wh = np.where(is_low, lost_wh, grown_wh - most_wh)
    for place in np.flatnonzero(is_low | is_high).tolist():
        at_s = min(float(steps.after_s[place]), measured.end_s)
        words = (
            f"WH goes from {steps.before_wh[place]:.6g} to {steps.after_wh[place]:.6g}"
        )
        yield at_s, words, float(costs_wh[place])


def _integrates(steps: _Steps, measured: Measurement) -> Column:
    """Return True where the integrator certainly runs during the whole step."""
    # The last rows may be later than the end set by the timer.
    is_before_end = steps.after_s < measured.end_s - TIME_TOLERANCE_S
    # A meter need not begin an update when integration starts: the first update may be only partly integrated.
    is_first = steps.before_wh == 0.0
    return np.asarray(steps.runs & is_before_end & ~is_first)


def _spikes(steps: _Steps, measured: Measurement) -> Iterator[Fault]:
    """Yield a fault where a reading shows more power than WH can contain, given its rise before and after it."""
    interval_s = measured.setup.update_interval_s
    shown_w = steps.around_w[:, 0]
    shown_wh = shown_w * max(interval_s - steps.age_s, 0.0) / 3600.0
    around_wh = steps.after_wh - np.append(math.nan, steps.before_wh[:-1])
    is_last = steps.after_s >= measured.end_s - TIME_TOLERANCE_S
    ended = (around_wh <= steps.resolution_wh) & is_last
    # The timer may end in the middle of an update.
    ended |= steps.after_s + interval_s >= _earliest_timer_end_s(measured)
    largest_wh = steps.resolution_wh + SPIKE * np.maximum(around_wh, 0.0)
    is_spike = ~ended & (largest_wh < shown_wh) & (shown_wh < math.inf)
    for place in np.flatnonzero(is_spike).tolist():
        rise = f"{around_wh[place]:.3g} around a reading of {shown_w[place]:.4g} W"
        cost_wh = float(shown_wh[place] - around_wh[place])
        yield float(steps.before_s[place]), f"WH rises by only {rise}", cost_wh


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
    asked_s = np.append(column(seen, "monotonic_s"), measured.end_s)
    ran_s = column(seen, "integrator_s")
    earliest_s = asked_s[:-1] - interval_s - age_s - ran_s
    columns = np.column_stack((asked_s[:-1], earliest_s, asked_s[1:] - ran_s))
    is_running = column(seen, "state") == IntegratorState.START
    bounds = columns[is_running].tolist()
    end_s = min(
        measured.end_s,
        measured.start_s + (measured.setup.integrator_timer_s or math.inf),
    )
    bounds.append((end_s, end_s - age_s - measured.integrator_s, math.inf))
    latest_s = (
        measured.start_s + interval_s
    )  # a meter may begin to integrate at its next update
    for at_s, early_s, by_s in bounds:
        lag_s = (
            early_s - TIME_RESOLUTION_S - CLOCK_SHARE * measured.elapsed_s - latest_s
        )
        latest_s = min(latest_s, by_s)
        if lag_s > 0:
            cost_wh = (
                lag_s * measured.integrator_wh / max(measured.elapsed_s - lag_s, lag_s)
            )
            yield at_s, f"TIME is {lag_s:.1f} s or more behind", cost_wh
            latest_s = by_s  # each loss counts once
