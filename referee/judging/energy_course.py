"""The energy of a run over time: what its meter had counted at each moment, and how far that may be off."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lpirc_power.energy.measurement import START_STOP_S
from referee.contest import Contest
from referee.judging.run_case import START_S
from referee.store.records import RUN_CLOSED, Run

Floats = NDArray[np.float64]
EnergyCourse = tuple[Floats, Floats]
"""Times (m,) and the energies (m,) known at them."""


def energies_at(
    contest: Contest,
    run: Run,
    elapsed_s: Floats,
) -> Floats | None:
    """Return the energy (n,) at each moment, interpolated linearly between readings; the last is the final energy.

    Return None without an energy or readings, and if the readings fall, because the meter then started again.
    """
    course = energy_course(contest, run, elapsed_s[-1])
    if course is None:
        return None
    until: Floats = np.interp(elapsed_s, *course)
    return until


def energy_course(
    contest: Contest,
    run: Run,
    end_s: float,
) -> EnergyCourse | None:
    """Return times (m,) and the energies (m,) known at them: 0 at 0, the readings, and the final energy at the end.

    Return None without an energy or readings, and if the readings fall or the final energy is below the last one: then
    parts of the run would have more energy than the whole.
    """
    if run.energy_wh is None:
        return None
    readings = [
        (each.monotonic_s, each.energy_wh)
        for each in contest.store.readings.of_run(run.id, START_S)
    ]
    known = [
        (when, energy)
        for when, energy in readings
        if when < end_s and math.isfinite(energy)
    ]
    when_s, energy_wh = np.array([(0.0, 0.0), *known, (end_s, run.energy_wh)]).T
    if not known or (np.diff(energy_wh) < 0).any():
        return None
    return when_s, energy_wh


def energy_limits_wh(
    contest: Contest,
    run: Run,
    course: EnergyCourse,
    elapsed_s: Floats,
) -> Floats:
    """Return the error limit of the energy at each moment (n,), without the meter's accuracy, which affects all alike.

    It is the energy between the two neighbouring readings, plus the energy at the mean power of start, stop and one
    update of the meter, as for a whole run in `Energy.start_stop_share`.
    """
    when_s, known_wh = course
    after = np.clip(np.searchsorted(when_s, elapsed_s), 1, len(when_s) - 1)
    between_wh = np.abs(known_wh[after] - known_wh[after - 1])
    edges_s = _start_stop_s(contest, run) + run.setup.update_interval_s
    limits: Floats = between_wh + edges_s * _mean_power(course, elapsed_s)
    return limits


def _mean_power(course: EnergyCourse, elapsed_s: Floats) -> Floats:
    """Return the mean power (n,) in Wh/s until each moment; at 0 s that until the first known time."""
    when_s, known_wh = course
    later_s = when_s[when_s > 0]
    if not len(later_s):
        return np.zeros(len(elapsed_s))
    until_s = np.where(elapsed_s > 0, elapsed_s, later_s[0])
    power: Floats = np.interp(until_s, when_s, known_wh) / until_s
    return power


def _start_stop_s(contest: Contest, run: Run) -> float:
    """Return the longest duration of the meter's start and stop, as measured when the run closed, else as assumed."""
    for event in contest.store.log.of_run(run.id):
        if event["kind"] == RUN_CLOSED and event.get("start_stop_s") is not None:
            return float(event["start_stop_s"])
    return START_STOP_S
