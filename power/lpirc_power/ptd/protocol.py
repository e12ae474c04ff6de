"""Serves a meter in the text protocol of MLPerf Power's harness: it answers commands, and samples from Go to Stop.

The commands are those of the harness (mlcommons/power-dev). The meter's integrator is not used.
"""

from __future__ import annotations

import platform
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Final

from lpirc_power.addresses.meter_address import limits_at
from lpirc_power.clocks import Clocks
from lpirc_power.energy.accuracy_checks import LARGEST_UNCERTAINTY
from lpirc_power.errors import MeterBusy, MeterError, PassingMeterError
from lpirc_power.meter import Reading, Setup, require_no_energy
from lpirc_power.ptd.device import Wanted
from lpirc_power.ptd.samples import (
    QUANTITIES,
    Sample,
    listed,
    sample_of,
    stamp,
    summary,
)
from lpirc_power.sampling.meter_session import MeterSession
from lpirc_power.sampling.sampling_thread import Sampling

OWN_NAME: Final = f"lpirc meter {version('lpirc-power')}"
"""Name under which the daemon reports itself; never SPEC's, since users must see that this is not SPEC PTDaemon."""
INTERVAL_MS: Final = 1000
MOST_SAMPLES: Final = 500_000
PADDING: Final = " " * 9216
"""Log padding that makes earlier messages visible: the harness copies our log while 8 KiB are still buffered."""
SHOWN: Final = 100
"""Characters of a command that is not understood which the answer quotes."""
INVALID: Final = "Invalid number of parameters"
COMMANDS: Final = (
    "Hello",
    "Identify",
    "RR",
    "SR",
    "Go",
    "Stop",
    "Uncertainty",
    *QUANTITIES,
)


class Daemon:
    """Serves one meter and its measurement. `record` receives each sample as a line, `log` each event."""

    def __init__(
        self,
        address: str,
        wanted: Wanted,
        clocks: Clocks,
        record: Callable[[str], object],
        log: Callable[[str], object],
    ) -> None:
        """Open the meter; settings change only at the first SR or Go.

        MeterError if it holds an energy, or `ptd-channels` if it has fewer channels than are wanted.
        """
        self._clocks = clocks
        self._record = record
        self._log = log
        self._turn = threading.Lock()
        self._link_lock = threading.RLock()
        self._session = MeterSession(address, wanted.element or "1", clocks)
        meter = self._session.untouched()
        require_no_energy(meter)
        found = meter.status()
        self._identity = meter.identity
        self._device = wanted.of_meter(self._identity.model, meter.choices().elements)
        volts = None if found.voltage_auto else found.voltage_range_v
        amperes = None if found.current_auto else found.current_range_a
        filters = found.line_filter, found.frequency_filter
        mode = "dc" if self._device.is_dc else found.mode
        element = self._device.element
        kept = mode, found.crest_factor, *filters, found.synchronize, element
        self._setup = Setup(volts, amperes, INTERVAL_MS / 1000, 0, *kept)
        self._is_set = False
        self._limits = limits_at(address, self._identity)
        self._sampling: Sampling | None = None
        self._samples: list[Sample] = []
        self._measures = False
        self._listed = 0
        self._missed = 0
        self._ramp = 0
        self._mark = ""
        self._last_s = 0.0
        self._driver = self._device.name(self._identity.maker, self._identity.model)
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
                return f"Error: {line.strip()[:SHOWN]!r} has a word, or too large a number, where a number must be."
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
        self._log(f"{stamp(self._clocks.utcnow())}: {text}")

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
            case [("RL" | "DC-RL"), *which] if (name == "DC-RL") == self._device.is_dc:
                return self._new(which)
            case [("Uncertainty" | "Watts" | "Volts" | "Amps" | "PF") as quantity]:
                return summary(quantity, self._measured(), self._missed)
        return INVALID if name in COMMANDS else f"Unknown command: {name[:SHOWN]}"

    def _new(self, which: Sequence[str]) -> str:
        """Return the samples that have not been listed yet; `*,*` asks for those of each channel, too.

        The harness tries RL,*,* first. From the answers it learns which command lists this device's samples: after
        `Invalid number of parameters` RL, for a single channel, and after `Unknown command` DC-RL.
        """
        is_joint = self._device.is_multichannel
        if which and not (is_joint and [*which] == ["*", "*"]):
            return INVALID
        new = self._measured()[self._listed :]
        self._listed += len(new)
        return listed(
            new, with_channels=is_joint and (bool(which) or self._device.is_dc)
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
        sample = sample_of(reading, self._device, self._setup, self._limits)
        limit = sample.uncertainty
        self._samples.append(sample)
        try:
            self._record(sample.logged(self._mark))
        except OSError as error:
            self.say(f"ERROR: The log of samples is incomplete: {error.strerror}.")
        # The harness looks for these prefixes.
        if sample.is_bad:
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
