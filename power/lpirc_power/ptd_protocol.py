"""Serves a meter in the text protocol of MLPerf Power's harness: it answers commands, and samples from Go to Stop.

The message formats are those of public logs (mlcommons/inference_results_v3.0) and of the harness
(mlcommons/power-dev). The values in an answer are in the order in which SPEC CPU2017's client reads them. The meter's
integrator is not used.
"""

from __future__ import annotations

import math
import platform
import re
import statistics
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from importlib.metadata import version
from typing import Final

from lpirc_power.clocks import Clocks
from lpirc_power.energy.accuracy_checks import LARGEST_UNCERTAINTY
from lpirc_power.energy.power_error_limit import uncertainty
from lpirc_power.errors import MeterBusy, MeterError, PassingMeterError
from lpirc_power.meter import Reading, Setup, require_no_energy
from lpirc_power.meter_address import limits_of
from lpirc_power.sampling.meter_session import MeterSession
from lpirc_power.sampling.sampling_thread import Sampling
from lpirc_power.wt300.range_fit import flagged

OWN_NAME: Final = f"lpirc meter {version('lpirc-power')}"
"""Name under which the daemon reports itself; never SPEC's, since users must see that this is not SPEC PTDaemon."""
INTERVAL_MS: Final = 1000
MOST_SAMPLES: Final = 500_000
PADDING: Final = " " * 9216
"""Log padding that makes earlier messages visible: the harness copies our log while 8 KiB are still buffered."""
QUANTITIES: Final = ("Watts", "Volts", "Amps", "PF")
COMMANDS: Final = (
    "Hello",
    "Identify",
    "RR",
    "SR",
    "Go",
    "Stop",
    "RL",
    "Uncertainty",
    *QUANTITIES,
)


@dataclass(frozen=True)
class Sample:
    """A sample: its known QUANTITIES, the limit of error as a part of the power (None: unknown), and its line."""

    values: dict[str, float]
    uncertainty: float | None
    line: str


class Daemon:
    """Serves one meter and its measurement. `record` receives each sample as a line, `log` each event."""

    def __init__(
        self, address: str, element: str, clocks: Clocks, record: Callable[[str], object], log: Callable[[str], object]
    ) -> None:  # fmt: skip
        """Open the meter; settings change only at the first SR or Go. MeterError if it holds an energy."""
        self._clocks = clocks
        self._record = record
        self._log = log
        self._turn = threading.Lock()
        self._link_lock = threading.RLock()
        self._session = MeterSession(address, element, clocks)
        meter = self._session.untouched()
        require_no_energy(meter)
        found = meter.status()
        self._identity = meter.identity
        volts = None if found.voltage_auto else found.voltage_range_v
        amperes = None if found.current_auto else found.current_range_a
        filters = found.line_filter, found.frequency_filter
        kept = found.mode, found.crest_factor, *filters, found.synchronize, element
        self._setup = Setup(volts, amperes, INTERVAL_MS / 1000, 0, *kept)
        self._is_set = False
        self._limits = limits_of(self._identity.model)
        self._sampling: Sampling | None = None
        self._samples: list[Sample] = []
        self._measures = False
        self._listed = 0
        self._missed = 0
        self._ramp = 0
        self._mark = ""
        self._last_s = 0.0
        # The harness knows a WT333E as YokogawaWT330E.
        family = re.sub(r"(WT3[13])\d(E?).*", r"\g<1>0\2", self._identity.model)
        self._driver = self._identity.maker.title() + family
        if self._limits is not None:
            self.say(f"Uncertainty checking for {self._driver} is activated")
        self.say(
            f"{OWN_NAME}, which is not SPEC PTDaemon, is connected to {self._identity}"
        )

    def answer(self, line: str) -> str:
        """Return the answer to a command line; a failed command is answered with `Error: ` and a sentence."""
        with self._turn:
            try:
                return self._answer(*(word.strip() for word in line.split(",")))
            except (ValueError, OverflowError):
                return f"Error: {line.strip()!r} has a word, or too large a number, where a number must be."
            except MeterError as error:
                if isinstance(error, PassingMeterError) and not self._measures:
                    self._session.drop()
                return f"Error: {error.sentence}"

    def close(self) -> None:
        """End the measurement, restore the meter's settings, close the link, and answer no further commands."""
        self._turn.acquire()  # for ever: the next command would open the meter again
        if self._sampling is not None:
            self._sampling.close()
        self._session.restore_settings()
        self._session.close()

    def say(self, text: str) -> None:
        """Log an event with its time."""
        self._log(f"{_stamp(self._clocks.utcnow())}: {text}")

    def _answer(self, name: str, *words: str) -> str:
        match name, *words:
            case ["Hello"]:
                return "Hello, PTDaemon here!"  # the harness accepts no other greeting
            case ["Identify"]:
                return self._identify()
            case ["RR"]:
                with self._link_lock:
                    found = self._session.untouched().status()
                current = f"{found.current_auto:d},{found.current_range_a:f}"
                return (
                    f"Ranges,{current},{found.voltage_auto:d},{found.voltage_range_v:f}"
                )
            case ["SR" | "Go", *_] if self._measures:
                raise MeterBusy("A measurement is running; Stop ends it.")
            case ["SR", ("A" | "V") as kind, wanted]:
                return self._set_range(kind, wanted)
            case ["Go", interval_ms, ramp, *mark] if len(mark) <= 1:
                return self._go(int(interval_ms) or INTERVAL_MS, int(ramp), *mark)
            case ["Stop"]:
                return self._stop()
            case ["RL"]:
                new = self._measured()[self._listed :]
                self._listed += len(new)
                return "\r\n".join(
                    (f"Last {len(new)} samples", *(sample.line for sample in new))
                )
            case [("Uncertainty" | "Watts" | "Volts" | "Amps" | "PF") as quantity]:
                return _summary(quantity, self._measured(), self._missed)
        return (
            "Invalid number of parameters"
            if name in COMMANDS
            else f"Unknown command: {name}"
        )

    def _identify(self) -> str:
        # Driver, interval, whether it can measure W, V, A, PF, Wh, Hz, and whether SPEC accepts it; then our own name.
        can = f"{self._driver},{INTERVAL_MS},1,1,1,1,0,0,0"
        own = f"version={OWN_NAME}-not SPEC PTDaemon,OS={platform.platform().replace(',', ' ')},mode=power"
        meter = ";".join(str(self._identity).split(" ", 3))
        return f"{can},{own},{self._limits is not None:d},1,1,0,0,no_cal_date,{meter}"

    def _set_range(self, kind: str, wanted: str) -> str:
        """Set a range to Auto, or to the smallest that holds the wanted value; if none does, the meter refuses."""
        found = self._session.untouched().choices()
        now = self._setup
        ranges = found.voltage_ranges_v if kind == "V" else found.current_ranges_a
        least = 0.0 if wanted == "Auto" else float(wanted)
        holding = min((one for one in ranges if one >= least > 0), default=least)
        value = None if wanted == "Auto" else holding
        volts, amperes = (
            (value, now.current_range_a)
            if kind == "V"
            else (now.voltage_range_v, value)
        )
        self._configure(replace(now, voltage_range_v=volts, current_range_a=amperes))
        return f"Range {kind} changed"

    def _go(self, interval_ms: int, ramp: int, mark: str = "notset") -> str:
        """Measure until Stop, at an update interval of the meter, so that each sample covers the whole interval."""
        self._configure(replace(self._setup, update_interval_s=interval_ms / 1000))
        self._samples = []
        self._listed = 0
        self._missed = 0
        self._ramp = ramp
        self._mark = mark
        self._measures = True
        self._last_s = self._clocks.monotonic()
        self.say(f"Go with mark {mark!r}")
        self._sampling = Sampling(
            self._session, self._link_lock, self._setup, self._clocks, threading.Event.wait, self._keep,
            lambda event: self.say(f"ERROR: {event.sentence}"),
        )  # fmt: skip
        limits = f"maximum {MOST_SAMPLES} samples at {interval_ms}ms with {ramp} rampup samples"
        return f"Starting untimed measurement, {limits}"

    def _configure(self, setup: Setup) -> None:
        # Settings already made are not repeated: setting a range again spoils the next sample.
        if (
            not self._is_set
            or setup != self._setup
            or self._session.meter().changes(setup)
        ):
            self._session.configure(setup)
        self._is_set = True
        self._setup = setup

    def _keep(self, reading: Reading) -> None:
        self._note_gap(reading.monotonic_s)
        self._ramp -= 1
        if self._ramp >= 0 or len(self._samples) == MOST_SAMPLES:
            return
        read = (
            reading.voltage_v,
            reading.current_a,
            reading.power_w,
            reading.apparent_va,
        )
        limit = uncertainty(self._setup, self._limits, *read)
        sample = _sample(reading, limit)
        self._samples.append(sample)
        try:
            self._record(f"{sample.line},Mark,{self._mark}")
        except OSError as error:
            self.say(f"ERROR: The log of samples is incomplete: {error.strerror}.")
        # The harness looks for these prefixes.
        if len(sample.values) < len(QUANTITIES):
            self.say(
                f"ERROR: Bad watts reading nan from {self._identity.model}: no data, or out of range"
            )
        if limit is None:
            self.say("ERROR: Can't evaluate uncertainty of this sample!")
        elif limit > LARGEST_UNCERTAINTY:
            self.say(
                f"WARNING: Uncertainty {limit:.2%}, which is above 1.00% limit for the last sample!"
            )

    def _note_gap(self, now_s: float) -> None:
        missed = round((now_s - self._last_s) / self._setup.update_interval_s) - 1
        self._last_s = now_s
        if missed > 0:
            self._missed += missed
            self.say(f"ERROR: The meter gave no sample for {missed} update intervals.")

    def _stop(self) -> str:
        if self._sampling is None or not self._measures:
            return "Error: no measurement to stop"
        self._measures = False
        self._sampling.close()
        self._note_gap(self._clocks.monotonic())
        try:
            self._measured()
            for change in self._session.meter().changes(self._setup):
                self.say(f"ERROR: A setting changed during the measurement: {change}")
        finally:
            self.say("Completed test")
            self._log(PADDING)
        return "Stopping untimed measurement"

    def _measured(self) -> list[Sample]:
        if self._sampling is not None and self._sampling.link_error is not None:
            raise self._sampling.link_error
        return self._samples


def _stamp(utc: datetime) -> str:
    return f"{utc:%m-%d-%Y %H:%M:%S}.{utc.microsecond // 1000:03}"


def _sample(reading: Reading, limit: float | None) -> Sample:
    figures = (
        reading.power_w,
        reading.voltage_v,
        reading.current_a,
        reading.power_factor,
    )
    known = zip(QUANTITIES, () if flagged(reading) else figures, strict=False)
    values = {name: figure for name, figure in known if math.isfinite(figure)}
    shown = (f"{name},{values.get(name, -1):f}" for name in QUANTITIES)
    return Sample(values, limit, ",".join(("Time", _stamp(reading.utc), *shown)))


def _summary(name: str, samples: Sequence[Sample], missed: int) -> str:
    if name in QUANTITIES:
        known = [sample.values[name] for sample in samples if name in sample.values]
        counts = [missed + len(samples) - len(known), len(known)]  # bad, good
    else:
        known = [
            sample.uncertainty for sample in samples if sample.uncertainty is not None
        ]
        above = sum(value > LARGEST_UNCERTAINTY for value in known)
        counts = [
            above,
            len(known) - above,
            len(samples) - len(known),
        ]  # bad, good, unknown
    mean, least, most = (
        (statistics.fmean(known), min(known), max(known)) if known else (-1, -1, -1)
    )
    return ",".join(
        (f"{name},{mean:f},{least:f},{most:f},{len(samples)}", *map(str, counts))
    )
