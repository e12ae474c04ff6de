"""Samplers that are closed at the end, and someone who takes what they read."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from power.meter import Reading, Setup
from power.sampler import LinkEvent, Sampler

SETUP = Setup(voltage_range_v=150.0, current_range_a=1.0, update_interval_s=0.1, integrator_timer_s=600)


class Recorder:
    """Takes readings and lets a test wait for them."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []
        self.events: list[LinkEvent] = []
        self._changed = threading.Condition()

    def __call__(self, reading: Reading) -> None:
        with self._changed:
            self.readings.append(reading)
            self._changed.notify_all()

    def more(self, count: int) -> None:
        with self._changed:
            wanted = len(self.readings) + count
            assert self._changed.wait_for(lambda: len(self.readings) >= wanted, 20)


@pytest.fixture
def setup() -> Setup:
    """Fixed ranges of 150 V and 1 A, ten readings a second."""
    return SETUP


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def sampler(recorder: Recorder) -> Iterator[Callable[..., Sampler]]:
    """Make samplers; all are closed at the end."""
    with contextlib.ExitStack() as stack:

        def make(
            address: str,
            setup: Setup = SETUP,
            take: Callable[[Reading], None] = recorder,
            monotonic: Callable[[], float] = time.monotonic,
            **options: Any,
        ) -> Sampler:
            options = {"on_link": recorder.events.append, **options}
            made = Sampler(address, setup, take, monotonic, lambda: datetime.now(UTC), **options)
            stack.callback(made.close)
            return made

        yield make
