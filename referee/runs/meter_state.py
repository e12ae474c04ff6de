"""The state of a meter, for the console."""

from __future__ import annotations

from enum import StrEnum

from lpirc_power.meter import IntegratorState
from referee.runs.open_run import OpenRun
from referee.runs.run_window import remaining_s

ENDING_S = 2.0
"""A meter that has stopped this long before a run's end has ended with it: its timer begins before the window."""


class MeterState(StrEnum):
    """The last known state of a station's meter. Determining it sends nothing to the meter."""

    IDLE = "idle"
    READY = "ready"
    INTEGRATING = "integrating"
    NOT_INTEGRATING = "not integrating"
    LOST = "lost"


def state_of(live: OpenRun, now_s: float) -> tuple[MeterState, str | None]:
    """Return the state of an open run's meter at `now_s`, and the failure of its link or None."""
    error = live.meter.sampler.link_error
    last = live.meter.sampler.last
    if error is not None:
        return MeterState.LOST, error.sentence
    if last is None or last.state is IntegratorState.START:
        return MeterState.INTEGRATING, None
    if remaining_s(live.window, now_s) <= ENDING_S:
        return MeterState.IDLE, None
    return MeterState.NOT_INTEGRATING, None
