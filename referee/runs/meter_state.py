"""The state of a meter, for the console."""

from __future__ import annotations

from enum import StrEnum

from lpirc_power.errors import MeterError
from lpirc_power.meter import IntegratorState
from referee.runs.open_run import OpenRun


class MeterState(StrEnum):
    """The last known state of a station's meter. Determining it sends nothing to the meter."""

    IDLE = "idle"
    READY = "ready"
    INTEGRATING = "integrating"
    NOT_INTEGRATING = "not integrating"
    LOST = "lost"


def state_of(live: OpenRun) -> tuple[MeterState, str | None]:
    """Return the state of an open run's meter, and the failure of its link or None."""
    error = live.meter.sampler.link_error
    last = live.meter.sampler.last
    if error is not None:
        return MeterState.LOST, error.sentence
    if last is None or last.state is IntegratorState.START:
        return MeterState.INTEGRATING, None
    if live.ending.is_set():
        # The close has stopped it: nothing is wrong.
        return MeterState.IDLE, None
    return MeterState.NOT_INTEGRATING, None


def after_the_run(error: MeterError) -> str:
    """Return what an operator is told of a free station whose meter did not answer at the end of its last run."""
    again = "It is asked again when a run is armed; 'Probe' in Settings, Stations asks it now."
    return f"It did not answer at the end of its last run: {error.sentence} {again}"
