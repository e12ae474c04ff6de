"""Checks that the integrator neither stops, resets nor jumps between two readings. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from lpirc_power.energy.integral import TIME_TOLERANCE_S, UNSEEN_UPDATES, WH_RESOLUTION
from lpirc_power.energy.measurement import TIME_RESOLUTION_S, Check, Measurement, check
from lpirc_power.meter import IntegratorState, Reading

UPDATES_BESIDE: Final = 2.0
"""Extra updates that WH may show over a pause: an older one before it and a newer one after it."""
LEAST_SHARE: Final = 0.5
"""Least rise of WH in an update, relative to the energy at the least power around it."""
SPIKE: Final = 2.0
"""Ratio of one update's energy to the rise of WH around it above which the update is a spike."""
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
        before_reset = ", and all before the reset" if was_reset else ""
        sentence = (
            f"The integrator did not run ({states}) in {len(stopped)} of {len(inside)} readings, from {first_s:.1f} s "
            f"to {last_s:.1f} s of the window: some {missing_wh:.3g} Wh are missing{before_reset}."
        )
        figures |= {"first_s": first_s, "last_s": last_s, "missing_wh": missing_wh}
    return check("integrator-stopped", not stopped, "error", sentence, **figures)


def energy_wh(inside: Sequence[Reading], some: Sequence[Reading]) -> float:
    """Return the energy in Wh of `some` of the readings: power x time since the previous reading."""
    wanted = {id(one) for one in some if math.isfinite(one.power_w)}
    steps = (
        (after, after.monotonic_s - before.monotonic_s)
        for before, after in pairwise(inside)
    )
    return (
        math.fsum(one.power_w * pause_s for one, pause_s in steps if id(one) in wanted)
        / 3600.0
    )


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
        "stopped, and started again"
        if reading.state is IntegratorState.START
        else reading.state.value
    )


def integrator_steps(inside: Sequence[Reading], measured: Measurement) -> Check:
    """`integrator-steps`: from reading to reading, WH rises as the power implies and TIME as the host's clock does."""
    seen = [
        one
        for one in inside
        if math.isfinite(one.energy_wh) and math.isfinite(one.integrator_s)
    ]
    faults = sorted((*_energy_faults(seen, measured), *_time_faults(seen, measured)))
    figures: dict[str, float] = {"faults": len(faults), "readings": len(seen)}
    sentence = f"WH and TIME rose as they should, in {len(seen)} readings."
    if faults:
        at_s = faults[0][0] - measured.start_s
        cost_wh = max(fault[2] for fault in faults)
        sentence = (
            f"WH or TIME do not fit in {len(faults)} places, the first at {at_s:.1f} s of the window, where "
            f"{faults[0][1]}; it may have cost {cost_wh:.3g} Wh."
        )
        figures |= {"first_s": at_s, "cost_wh": cost_wh}
    return check("integrator-steps", not faults, "error", sentence, **figures)


def _energy_faults(seen: Sequence[Reading], measured: Measurement) -> Iterator[Fault]:
    """Yield the faults of WH: it falls, rises by more or less than the power implies, or misses a shown power."""
    interval_s = measured.setup.update_interval_s
    least_w = min(
        [0.0, *(one.power_w for one in seen if math.isfinite(one.power_w))]
    )  # below 0 for a source
    ran_on_s = max(measured.integrator_s - measured.elapsed_s, 0.0)
    stop_s = measured.start_stop_at_most_s + (measured.end_s + ran_on_s)
    timer_end_s = _earliest_timer_end_s(measured)
    sums = [
        *((one.monotonic_s, one.energy_wh) for one in seen),
        (stop_s, measured.integrator_wh),
    ]
    # On a busy host an answer may be late. Its values are certainly older than the next query.
    untils_s = [*(at_s for at_s, _ in sums[2:]), stop_s + interval_s]
    for place, ((before_s, before_wh), (after_s, after_wh)) in enumerate(
        pairwise(sums)
    ):
        pause_s = after_s - before_s
        around = seen[place : place + 3]
        longest_s = untils_s[place] - before_s + interval_s
        known = len(around) > 1 and all(math.isfinite(one.power_w) for one in around)
        known = known and pause_s <= UNSEEN_UPDATES * interval_s
        runs = known and all(one.state is IntegratorState.START for one in around)
        # The last rows may be later than the end set by the timer.
        runs = runs and after_s < measured.end_s - TIME_TOLERANCE_S
        # A meter need not begin an update when integration starts: the first update may be only partly integrated.
        runs = runs and before_wh != 0.0
        seen_all = known and longest_s <= (UPDATES_BESIDE + UNSEEN_UPDATES) * interval_s
        most_w = (
            max(0.0, *(one.power_w for one in around)) if seen_all else measured.most_w
        )
        most_wh = most_w * longest_s / 3600.0
        least_wh = least_w * longest_s / 3600.0
        if runs and least_wh == 0.0:
            least_wh = (
                LEAST_SHARE
                * min(one.power_w for one in around)
                * min(pause_s, interval_s)
                / 3600.0
            )
        grown_wh = after_wh - before_wh
        resolution_wh = WH_RESOLUTION * max(abs(before_wh), abs(after_wh))
        at_s = min(after_s, measured.end_s)
        words = f"WH goes from {before_wh:.6g} to {after_wh:.6g}"
        if grown_wh < least_wh - resolution_wh:
            yield at_s, words, most_wh - grown_wh if known else -grown_wh
        elif grown_wh > most_wh + resolution_wh:
            yield at_s, words, grown_wh - most_wh
        around_wh = after_wh - sums[max(place - 1, 0)][1]
        shown_wh = seen[place].power_w * interval_s / 3600.0
        ended = (
            around_wh <= resolution_wh and after_s >= measured.end_s - TIME_TOLERANCE_S
        )
        ended = (
            ended or after_s + interval_s >= timer_end_s
        )  # in the middle of an update
        if (
            place
            and not ended
            and resolution_wh + SPIKE * max(around_wh, 0.0) < shown_wh < math.inf
        ):
            yield (
                before_s,
                f"WH rises by {around_wh:.3g} around {seen[place].power_w:.4g} W",
                shown_wh - around_wh,
            )


def _earliest_timer_end_s(measured: Measurement) -> float:
    """Return the earliest time at which the timer may have ended the integrator, which starts before the window."""
    timer_s = measured.setup.integrator_timer_s or math.inf
    return measured.start_s - measured.start_stop_at_most_s + timer_s


def _time_faults(seen: Sequence[Reading], measured: Measurement) -> Iterator[Fault]:
    """Yield each time at which TIME falls behind the host's clock by more than its resolution explains.

    The cause is a reset, a stop or a jump. The update in a reading was made between one interval before its question
    and the next question, and its TIME is known to a second. So each reading bounds when an integrator that never
    stopped was started.
    """
    interval_s = measured.setup.update_interval_s
    asked_s = [*(one.monotonic_s for one in seen), measured.end_s]
    bounds = [
        (
            asked_s[place],
            asked_s[place] - interval_s - one.integrator_s,
            asked_s[place + 1] - one.integrator_s,
        )
        for place, one in enumerate(seen)
        if one.state is IntegratorState.START
    ]
    end_s = min(
        measured.end_s,
        measured.start_s + (measured.setup.integrator_timer_s or math.inf),
    )
    bounds.append((end_s, end_s - measured.integrator_s, math.inf))
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
