"""Opens a meter for a notebook or a script."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Iterator
from numbers import Real
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from lpirc_power.addresses.meter_address import MeterAddress
from lpirc_power.clocks import Clocks, real_clocks
from lpirc_power.errors import (
    MeterBusy,
    MeterChanged,
    MeterError,
    MeterRangeError,
)
from lpirc_power.meter import Identity, Setup
from lpirc_power.notebook.cell import facts_cell
from lpirc_power.notebook.interruption import uninterrupted
from lpirc_power.notebook.live_recording import LiveRecording
from lpirc_power.notebook.python_words import in_python_words
from lpirc_power.record.setup_values import require_setup_values
from lpirc_power.recording_run.recorder import Order
from lpirc_power.sampling.armed_meter import require_ranges
from lpirc_power.sampling.polling import Idle
from lpirc_power.sampling.sampler import Sampler


def open_meter(
    address: str,
    *,
    voltage_range_v: float | None = None,
    current_range_a: float | None = None,
    update_interval_s: float = 0.25,
    mode: str = "rms",
    crest_factor: int = 3,
    line_filter: bool = False,
    frequency_filter: bool = False,
    synchronize: str = "voltage",
    element: str = "1",
    ambient_change_c: float = 5.0,
) -> OpenMeter:
    """Find the meter at an address and check that it can be set up so; nothing is changed in it yet.

    Address and settings are those of `meter record`; a range of None is automatic. Raises MeterError if no meter
    answers, or if it lacks a range or another setting.
    """
    setup = Setup(
        voltage_range_v=voltage_range_v,
        current_range_a=current_range_a,
        update_interval_s=update_interval_s,
        integrator_timer_s=0,
        mode=mode,
        crest_factor=crest_factor,
        line_filter=line_filter,
        frequency_filter=frequency_filter,
        synchronize=synchronize,
        element=element,
        ambient_change_c=ambient_change_c,
    )
    require_setup_values(setup)
    clocks = real_clocks()
    place = MeterAddress(address)
    with contextlib.ExitStack() as stack:
        stack.enter_context(uninterrupted())
        stack.callback(place.close)
        found = stack.enter_context(contextlib.closing(place.connect(clocks)))
        identity = found.identity
        found.require_possible(setup)
        require_ranges(found, setup)
    return OpenMeter(address, setup, identity, clocks)


class OpenMeter:
    """A meter with the settings to record with.

    Between two recordings it has its former settings and no link, so other programs can use it. Any thread may record,
    one at a time.
    """

    def __init__(
        self, address: str, setup: Setup, identity: Identity, clocks: Clocks
    ) -> None:
        """Use `open_meter`, which checks the values."""
        self.address = address
        self.setup = setup
        self.identity = identity
        self._clocks = clocks
        self._guard = threading.Lock()
        self._user: str | None = None
        self._idle: Idle | None = None
        self._is_closed = False

    def recording(
        self,
        path: str | Path,
        *,
        force: bool = False,
        idle_s: float | None = None,
        take_over: bool = False,
    ) -> LiveRecording:
        """Return a recording for a with statement; its readings go to the CSV file `path`.

        `force` overwrites the file. `idle_s` first measures the idle power for so many seconds. `take_over` uses a
        meter that integrates or still holds an energy, which is then lost. The with statement raises MeterError if the
        recording cannot begin, or has no energy at its end.
        """
        if idle_s is not None:
            _require_time("idle_s", idle_s)
        if "\0" in str(path):
            raise MeterError("recording-file", "No file has a name with a NUL in it.")
        order = Order(
            address=self.address,
            setup=self.setup,
            output=Path(path),
            force=force,
            idle_s=idle_s,
            take_over=take_over,
            idle=self._idle,
        )
        return LiveRecording(order, self._clocks, self._claimed, self._require_same)

    def idle(self, seconds: float) -> Idle:
        """Measure the idle power for so many seconds; the next recordings state their energy above it.

        Raises MeterError `meter-no-idle` if the readings show no idle power.
        """
        _require_time("seconds", seconds)
        with in_python_words(), self._claimed("the idle power"):
            sampler = Sampler(
                self.address,
                self.setup,
                lambda _reading: None,
                self._clocks.monotonic,
                self._clocks.utcnow,
            )
            with uninterrupted() as going_on, contextlib.closing(sampler):
                self._require_same(sampler.arm(spare_energy=True))
                self._idle = sampler.measure_idle(seconds, going_on)
                return self._idle

    def close(self) -> None:
        """Begin no more recordings; one that another thread is making goes on to its end."""
        self._is_closed = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<meter {self.identity} at {self.address}>"

    def _repr_html_(self) -> str:
        shown = {
            "meter": str(self.identity),
            "address": self.address,
            "voltage range": _range(self.setup.voltage_range_v, "V"),
            "current range": _range(self.setup.current_range_a, "A"),
            "update interval": f"{self.setup.update_interval_s:g} s",
        }
        return facts_cell(shown)

    @contextlib.contextmanager
    def _claimed(self, what: str) -> Iterator[None]:
        with self._guard:
            if self._is_closed:
                raise MeterError(
                    "meter-closed",
                    f"The meter {self.identity} is closed; open it again with open_meter.",
                )
            if self._user is not None:
                raise MeterBusy(
                    f"The meter {self.identity} is measuring {self._user}; end that before you measure {what}."
                )
            self._user = what
        try:
            yield
        finally:
            with self._guard:
                self._user = None

    def _require_same(self, identity: Identity) -> None:
        if str(identity) != str(self.identity):
            raise MeterChanged(
                f"Another meter answers: {identity}, not {self.identity}. Connect the right meter again."
            )


def _range(value: float | None, unit: str) -> str:
    return "automatic" if value is None else f"{value:g} {unit}"


def _require_time(name: str, seconds: Any) -> None:
    is_number = isinstance(seconds, Real) and not isinstance(seconds, bool)
    if not (is_number and 0 < seconds < math.inf):
        shown = seconds if is_number else repr(seconds)
        raise MeterRangeError(f"{name} is {shown}; give a time above 0, in seconds.")
