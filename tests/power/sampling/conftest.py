"""Samplers that are closed at the end, and someone who takes what they read."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from lpirc_power.addresses.meter_address import MeterAddress
from lpirc_power.meter import Reading, Setup
from lpirc_power.sampling.sampler import LinkEvent, Sampler
from lpirc_power.simulator.instrument import Instrument
from lpirc_power.simulator.loads import parse_load
from lpirc_power.simulator.vxi11 import Vxi11Server
from tests import warm_programs
from tests.timeouts import TIMEOUT_S

SETUP = Setup(
    voltage_range_v=150.0,
    current_range_a=1.0,
    update_interval_s=0.1,
    integrator_timer_s=600,
)


class Recorder:
    """Takes readings and lets a test wait for them."""

    def __init__(self) -> None:
        self.readings: list[Reading] = []
        self.events: list[LinkEvent] = []
        self._changed = threading.Condition()

    def __call__(
        self,
        reading: Reading,
    ) -> None:
        with self._changed:
            self.readings.append(reading)
            self._changed.notify_all()

    def more(
        self,
        count: int,
    ) -> None:
        with self._changed:
            wanted = len(self.readings) + count
            assert self._changed.wait_for(
                lambda: len(self.readings) >= wanted,
                TIMEOUT_S,
            )


@pytest.fixture(autouse=True)
def warm_simulators(monkeypatch: pytest.MonkeyPatch) -> None:
    """The meters at `sim:` start in a tenth of the time; tests/power/test_meter_address.py starts them as users do."""
    monkeypatch.setattr(
        "lpirc_power.addresses.simulator_address.subprocess",
        warm_programs.Simulators,
    )


@pytest.fixture
def setup() -> Setup:
    """Fixed ranges of 150 V and 1 A, ten readings a second."""
    return SETUP


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@dataclass
class Pauses:
    """How long a sampler has asked to pause between one reading and the next: no host, however busy, changes that."""

    last: Callable[[], Reading | None] = lambda: None
    lengths_s: list[float] = field(default_factory=list)
    _before: Reading | None = None
    _asked_s: float = 0.0

    def wait(
        self,
        event: threading.Event,
        seconds: float,
    ) -> bool:
        self.note(seconds)
        return event.wait(seconds)

    def note(
        self,
        seconds: float,
    ) -> None:
        if threading.current_thread().name != "sampler":
            return
        last = self.last()
        if last is not self._before:
            if self._before is not None:
                self.lengths_s.append(self._asked_s)
            self._before = last
            self._asked_s = 0.0
        self._asked_s += seconds


class Paced:
    """A real sampler and a simulated meter of 36 W, whose one clock only the sampler's pauses put forward.

    It stands still at `end_s` after the start of the sampling. Each question costs `question_s`.
    """

    def __init__(self, *, question_s: float = 0.0) -> None:
        self.now_s = 1000.0
        self.end_s = float("inf")
        self.questions = 0
        self._question_s = question_s
        self._stood_still = threading.Event()
        self._pace = threading.Lock()
        self.instrument = Instrument(
            parse_load("constant:36W", self.monotonic),
            self.monotonic,
        )
        self.server = Vxi11Server(self.instrument, "127.0.0.1", 0)

    def monotonic(self) -> float:
        return self.now_s

    def wait(
        self,
        event: threading.Event,
        seconds: float,
    ) -> bool:
        sampling = threading.current_thread().name == "sampler"
        while sampling and self._stands_still(seconds):
            if event.wait(0.005):
                return True
        self.questions += sampling
        self.now_s += seconds + self._question_s * sampling
        return event.is_set()

    def _stands_still(
        self,
        seconds: float,
    ) -> bool:
        with self._pace:
            if self.now_s + seconds <= self.end_s:
                return False
            self._stood_still.set()
            return True

    def until_s(
        self,
        end_s: float,
    ) -> None:
        """Wait until so much time of the meter has passed."""
        with self._pace:
            self.end_s = end_s
            self._stood_still.clear()
        assert self._stood_still.wait(TIMEOUT_S)

    @property
    def updates(self) -> int:
        with self.instrument.changed:
            self.instrument.measuring.catch_up()
            return self.instrument.measuring.updates


@pytest.fixture
def pauses() -> Pauses:
    return Pauses()


@pytest.fixture
def paced() -> Iterator[Callable[..., Paced]]:
    """Make meters whose clock is their sampler's."""
    with contextlib.ExitStack() as stack:

        def make(**options: float) -> Paced:
            made = Paced(**options)
            stack.callback(made.server.close)
            return made

        yield make


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
            made = Sampler(
                address,
                setup,
                take,
                monotonic,
                lambda: datetime.now(UTC),
                **options,
            )
            stack.callback(made.close)
            return made

        yield make


class Flawed:
    """The real driver, but for the calls that replace its own."""

    def __init__(
        self,
        meter: Any,
        calls: dict[str, Callable[..., Any]],
    ) -> None:
        self.meter = meter
        self._calls = calls

    def __getattr__(
        self,
        name: str,
    ) -> Any:
        return self._calls.get(name) or getattr(self.meter, name)


@pytest.fixture
def flawed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[Flawed]]:
    """Replace calls of every meter that is opened from now on; returns those meters."""

    def spoil(**calls: Callable[..., Any]) -> list[Flawed]:
        plain = MeterAddress.connect
        opened = []

        def connect(*given: Any) -> Flawed:
            opened.append(Flawed(plain(*given), calls))
            return opened[-1]

        monkeypatch.setattr(MeterAddress, "connect", connect)
        return opened

    return spoil
