"""The state of a meter, for the console."""

from __future__ import annotations

from enum import StrEnum

from lpirc_power.meter import IntegratorState
from referee.runs.station_meters import RunMeter


class MeterState(StrEnum):
    """The last known state of a station's meter. Determining it sends nothing to the meter."""

    IDLE = "idle"
    READY = "ready"
    INTEGRATING = "integrating"
    NOT_INTEGRATING = "not integrating"
    LOST = "lost"


def state_of(meter: RunMeter) -> tuple[MeterState, str | None]:
    """Return the state of an open run's meter, and the failure of its link or None."""
    error = meter.sampler.link_error
    last = meter.sampler.last
    if error is not None:
        return MeterState.LOST, error.sentence
    runs = last is None or last.state is IntegratorState.START
    return (MeterState.INTEGRATING if runs else MeterState.NOT_INTEGRATING), None
