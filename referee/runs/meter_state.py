"""The state of a meter as the console shows it."""

from __future__ import annotations

from enum import StrEnum

from lpirc_power.meter import IntegratorState
from referee.runs.station_meters import RunMeter


class MeterState(StrEnum):
    """The state of a station's meter as known without asking it."""

    IDLE = "idle"
    READY = "ready"
    INTEGRATING = "integrating"
    NOT_INTEGRATING = "not integrating"
    LOST = "lost"


def state_of(meter: RunMeter) -> tuple[MeterState, str | None]:
    """The state of the meter of an open run, and the failure of its link, if it has one."""
    error = meter.sampler.link_error
    last = meter.sampler.last
    if error is not None:
        return MeterState.LOST, error.sentence
    runs = last is None or last.state is IntegratorState.START
    return (MeterState.INTEGRATING if runs else MeterState.NOT_INTEGRATING), None
