"""The daemon's commands, a line in and its answer out, and the thread that measures between Go and Stop."""

from __future__ import annotations

import platform
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from importlib.metadata import version
from typing import Final

from power.addresses import limits_of
from power.clocks import Clocks
from power.energy.accuracy import power_range_w, relative_uncertainty
from power.errors import MeterBusy, MeterError, MeterRangeError
from power.meter import Reading, Setup
from power.ptd.samples import QUANTITIES, Sample, stamp, summary, uncertainties
from power.sampling import polling
from power.sampling.connection import MeterSession, require_no_energy

OWN_NAME: Final = f"lpirc meter {version('lpirc-referee')}"
"""Never SPEC's: whoever wants SPEC PTDaemon must see that this is another program."""
INTERVAL_MS: Final = 1000
MOST_SAMPLES: Final = 500_000
COMMANDS: Final = ("Hello", "Identify", "RR", "SR", "Go", "Stop", "RL", "Uncertainty", *QUANTITIES)


class Daemon:
    """Owns one meter and its measurement. `record` takes each sample as a line, `log` each event."""

    def __init__(
        self, address: str, element: str, clocks: Clocks, record: Callable[[str], object], log: Callable[[str], object]
    ) -> None:  # fmt: skip
        """Open the meter; nothing is set in it before the first SR or Go. MeterError if it holds an energy."""
        self._clocks, self._record, self._log = clocks, record, log
        self._lock = threading.RLock()
        self._session = MeterSession(address, element, clocks)
        meter = self._session.untouched()
        require_no_energy(meter)
        found, self._identity = meter.status(), meter.identity
        volts = None if found.voltage_auto else found.voltage_range_v
        amperes = None if found.current_auto else found.current_range_a
        filters = found.line_filter, found.frequency_filter
        kept = found.mode, found.crest_factor, *filters, found.synchronize, element
        self._setup, self._is_set = Setup(volts, amperes, INTERVAL_MS / 1000, 0, *kept), False
        self._limits = limits_of(self._identity.model)
        self._ending: threading.Event | None = None
        self._trouble: MeterError | None = None
        self._samples: list[Sample] = []
        self._told, self._missed, self._last_s, self._mark = 0, 0, 0.0, ""
        # The harness knows a WT333E as YokogawaWT330E.
        family = re.sub(r"(WT3[13])\d(E?).*", r"\g<1>0\2", self._identity.model)
        self._driver = self._identity.maker.title() + family
        if self._limits is not None:
            self.say(f"Uncertainty checking for {self._driver} is activated")
        self.say(f"{OWN_NAME}, which is not SPEC PTDaemon, is connected to {self._identity}")

    def answer(self, line: str) -> str:
        """Return the answer to a line; what cannot be done is answered by `Error: ` and a sentence."""
        with self._lock:
            try:
                return self._answer(*(word.strip() for word in line.split(",")))
            except (MeterError, ValueError) as error:
                self._session.drop()
                return f"Error: {error}"

    def close(self) -> None:
        """End the measurement, restore the meter's settings, close the link; answer nothing any more."""
        self._lock.acquire()  # for ever: the next command would open the meter again
        if self._ending is not None:
            self._ending.set()
        self._session.restore_settings()
        self._session.close()

    def say(self, text: str) -> None:
        """Log an event with its time."""
        self._log(f"{stamp(self._clocks.utcnow())}: {text}")

    def _answer(self, name: str, *words: str) -> str:
        match name, *words:
            case ["Hello"]:
                return "Hello, PTDaemon here!"  # the harness talks to no one who greets otherwise
            case ["Identify"]:
                return self._identify()
            case ["RR"]:
                found = self._session.untouched().status()
                current = f"{found.current_auto:d},{found.current_range_a:f}"
                return f"Ranges,{current},{found.voltage_auto:d},{found.voltage_range_v:f}"
            case ["SR", ("A" | "V") as kind, wanted]:
                return self._set_range(kind, wanted)
            case ["Go", interval_ms, ramp, *mark] if len(mark) <= 1:
                return self._go(int(interval_ms) or INTERVAL_MS, int(ramp), *mark)
            case ["Stop"]:
                return self._stop()
            case ["RL"]:
                new = self._measured()[self._told :]
                self._told += len(new)
                return "\r\n".join((f"Last {len(new)} samples", *(sample.line() for sample in new)))
            case ["Uncertainty"]:
                return uncertainties(self._measured())
            case [quantity] if quantity in QUANTITIES:
                return summary(quantity, self._measured(), self._missed)
        return "Invalid number of parameters" if name in COMMANDS else f"Unknown command: {name}"

    def _identify(self) -> str:
        # Driver, interval, whether it can measure W, V, A, PF, Wh, Hz, and whether SPEC accepts it; then ourselves.
        system = platform.platform().replace(",", " ")
        own = f"version={OWN_NAME}-not SPEC PTDaemon,OS={system},mode=power,{self._limits is not None:d},1,1,0,0"
        meter = ";".join((self._identity.maker, self._identity.model, self._identity.serial))
        return (
            f"{self._driver},{INTERVAL_MS},1,1,1,1,0,0,0,{own},no_cal_date,{meter};{self._identity.firmware}"
        )

    def _set_range(self, kind: str, wanted: str) -> str:
        """Set a range to Auto, or to the smallest that holds the wanted value."""
        choices = self._session.untouched().choices()
        ranges = choices.voltage_ranges_v if kind == "V" else choices.current_ranges_a
        value = None
        if wanted != "Auto":
            value = min((one for one in ranges if one >= float(wanted) > 0), default=None)
            if value is None:
                raise MeterRangeError(f"The meter's ranges {kind} do not hold {wanted}.")
        now = self._setup
        volts, amperes = (value, now.current_range_a) if kind == "V" else (now.voltage_range_v, value)
        self._configure(replace(now, voltage_range_v=volts, current_range_a=amperes))
        return f"Range {kind} changed"

    def _go(self, interval_ms: int, ramp: int, mark: str = "notset") -> str:
        """Measure until Stop; the interval is one of the meter's own, so each sample covers all of it."""
        self._configure(replace(self._setup, update_interval_s=interval_ms / 1000))
        self._samples, self._told, self._missed, self._mark, self._trouble = [], 0, 0, mark, None
        self._ending, self._last_s = threading.Event(), self._clocks.monotonic()
        self.say(f"Go with mark {mark!r}")
        threading.Thread(target=self._measure, args=(self._ending, ramp), daemon=True).start()
        limits = f"maximum {MOST_SAMPLES} samples at {interval_ms}ms with {ramp} rampup samples"
        return f"Starting untimed measurement, {limits}"

    def _configure(self, setup: Setup) -> None:
        if self._ending is not None:
            raise MeterBusy("A measurement is running; Stop ends it.")
        # What is set already is left alone: a range that is set again costs the next sample.
        if not self._is_set or setup != self._setup or self._session.meter().changes(setup):
            self._session.configure(setup)
        self._is_set, self._setup = True, setup

    def _measure(self, ending: threading.Event, ramp: int) -> None:
        found = polling.updates(lambda: self._read(ending), self._setup.update_interval_s, ending.wait)
        for number, reading in enumerate(found):
            with self._lock:
                if ending.is_set() or len(self._samples) == MOST_SAMPLES:
                    return
                self._note_gap(reading.monotonic_s)
                if number >= ramp:
                    self._keep(reading)

    def _read(self, ending: threading.Event) -> polling.Sample | None:
        with self._lock:
            if ending.is_set():
                return None
            try:
                taken = self._session.meter().read_update()
            except MeterError as error:
                self._session.drop()
                self._trouble, known = error, self._trouble
                if known is None:
                    self.say(f"ERROR: {error.sentence}")
                return None
            self._trouble = None
            return taken

    def _keep(self, reading: Reading) -> None:
        setup, limits = self._setup, self._limits
        range_w = power_range_w(setup, limits, reading.voltage_v, reading.current_a)
        limit = relative_uncertainty(reading.power_w, reading.apparent_va, range_w, limits, setup.mode)
        sample = Sample(reading, limit)
        self._samples.append(sample)
        for complaint in sample.complaints(self._identity.model):
            self.say(complaint)
        try:
            self._record(f"{sample.line()},Mark,{self._mark}")
        except OSError as error:
            self.say(f"ERROR: The log of samples is incomplete: {error.strerror}.")

    def _note_gap(self, now_s: float) -> None:
        missed = round((now_s - self._last_s) / self._setup.update_interval_s) - 1
        self._last_s = now_s
        if missed > 0:
            self._missed += missed
            self.say(f"ERROR: The meter gave no sample for {missed} update intervals.")

    def _stop(self) -> str:
        if self._ending is None:
            return "Error: no measurement to stop"
        self._ending.set()
        self._ending = None
        self._note_gap(self._clocks.monotonic())
        try:
            self._measured()
            for change in self._session.meter().changes(self._setup):
                self.say(f"ERROR: A setting changed in mid-measurement: {change}")
        finally:
            self.say("Completed test")
        return "Stopping untimed measurement"

    def _measured(self) -> list[Sample]:
        if self._trouble is not None:
            raise self._trouble
        return self._samples
