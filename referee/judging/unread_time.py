"""The time of a run in which its meter was not read: nothing is said of the power there. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lpirc_power.energy.inference import LONGEST_PAUSE_S
from referee.judging.power_steps import PowerStep
from referee.judging.run_course import Course
from referee.store.records import Run

Floats = NDArray[np.float64]

MISSED_UPDATES = 5


@dataclass(frozen=True)
class Pause:
    """A time between two readings, or between one and an end of the run, that is too long for one update."""

    start_s: float
    end_s: float


def pauses_of(run: Run, course: Course) -> tuple[Pause, ...]:
    """Return the pauses of a run with readings, in order; without any reading there are none."""
    return pauses_between(
        course.reading_s,
        course.elapsed_s,
        run.setup.update_interval_s,
    )


def pauses_between(
    reading_s: Floats,
    elapsed_s: float,
    update_interval_s: float,
) -> tuple[Pause, ...]:
    """Return the pauses from 0 to the end that last longer than LONGEST_PAUSE_S and MISSED_UPDATES updates."""
    longest_s = max(LONGEST_PAUSE_S, MISSED_UPDATES * update_interval_s)
    known_s = reading_s[(reading_s >= 0) & (reading_s <= elapsed_s)].tolist()
    if not known_s:
        return ()
    moments_s = [0.0, *known_s, elapsed_s]
    return tuple(
        Pause(before_s, after_s)
        for before_s, after_s in pairwise(moments_s)
        if after_s - before_s > longest_s
    )


def steps_outside(
    steps: Sequence[PowerStep],
    pauses: Sequence[Pause],
) -> tuple[PowerStep, ...]:
    """Return the steps without the time of the pauses."""
    return tuple(part for one in steps for part in _outside(one, pauses))


def _outside(step: PowerStep, pauses: Sequence[Pause]) -> Iterator[PowerStep]:
    begin_s = step.start_s
    for pause in pauses:
        if pause.end_s <= begin_s or pause.start_s >= step.end_s:
            continue
        if pause.start_s > begin_s:
            yield replace(step, start_s=begin_s, end_s=pause.start_s)
        begin_s = pause.end_s
    if begin_s < step.end_s:
        yield replace(step, start_s=begin_s)


def unread_words(pauses: Sequence[Pause]) -> str:
    """Return a sentence that names the pauses, "" if there is none."""
    if not pauses:
        return ""
    total_s = sum(one.end_s - one.start_s for one in pauses)
    first = pauses[0]
    words = f"from {first.start_s:.1f} to {first.end_s:.1f} s"
    if len(pauses) > 1:
        words += f", the first of {len(pauses)} times"
    return f"The meter was not read for {total_s:.1f} s of the run ({words}), so the power of that time is not known."
