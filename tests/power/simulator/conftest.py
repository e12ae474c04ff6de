"""A simulated meter on a clock that is moved by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lpirc_power.simulator.instrument import Instrument
from lpirc_power.simulator.loads import parse_load


class HandClock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s

    def pass_s(
        self,
        seconds: float,
    ) -> None:
        self.now_s += seconds


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def meter(clock: HandClock) -> Callable[..., Instrument]:
    """Make a meter on a load, in long words and without headers."""

    def make(
        load: str = "constant:36W",
        model: str = "WT310",
        **more: Any,
    ) -> Instrument:
        instrument = Instrument(parse_load(load, clock), clock, model=model, **more)
        assert instrument.execute(":COMMUNICATE:HEADER OFF;VERBOSE ON") is None
        return instrument

    return make
