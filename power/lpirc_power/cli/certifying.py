"""The parts of `meter certify`: every driver call one by one, and recorded runs."""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import click

from lpirc_power.addresses.meter_address import MeterAddress, standing
from lpirc_power.cli.boundary import warnings_printed
from lpirc_power.cli.transcript import Transcript
from lpirc_power.cli.updates import Updates, start_sentence
from lpirc_power.clocks import real_clocks
from lpirc_power.energy import Check
from lpirc_power.errors import MeterBusy, MeterError, MeterLost, PassingMeterError
from lpirc_power.meter import (
    SIMULATED,
    Identity,
    IntegratorState,
    Meter,
    Setup,
    require_no_energy,
)
from lpirc_power.recording import header_line, row
from lpirc_power.recording_run.course import Course
from lpirc_power.recording_run.recorder import Order
from lpirc_power.recording_run.single_run import recorded
from lpirc_power.report.reading_facts import figure, identity_facts
from lpirc_power.sampling.polling import RETRY_S
from lpirc_power.visa.link_failures import host_of

LOAD_TOLERANCE: Final = 0.05
"""Tolerance relative to the known load: it reveals a wrong element, wire or ratio, but does not judge accuracy."""
NOT_OF_THE_METER: Final = ("official-meter", "accuracy", "low-load")
"""Checks that depend on the chosen meter, ranges and load rather than on how the meter works."""
RETRIES: Final = 40
"""Attempts to reach a lost meter and restore its settings; they take ten seconds in all."""
SHORTEST_SERIAL: Final = 4
"""Shortest serial number that is masked; a shorter one would match text throughout the file."""
MOVING: Final = ("voltage_range_v", "current_range_a", "errors")
"""Settings not compared after a restore: automatic ranges change by themselves, and reading clears the errors."""


@dataclass
class Certification:
    """A self-test of the meter at an address: owns its findings, recordings and transcript, and prints each finding."""

    address: str
    setup: Setup
    findings: list[Check] = field(default_factory=list)
    recordings: dict[str, list[str]] = field(default_factory=dict)
    transcript: Transcript = field(default_factory=Transcript)
    identity: Identity | None = None

    def converse(self) -> None:
        """Make every driver call once, and start, stop and reset the integrator twice.

        Raises MeterError `meter-busy`, before anything is set, if the meter integrates or shows an energy that was not
        reset.
        """
        course = Course(None, (), real_clocks().monotonic)
        address = MeterAddress(self.address)
        with (
            course.interruptible(),
            contextlib.closing(address),
            contextlib.ExitStack() as links,
        ):

            def link() -> Meter:
                return links.enter_context(
                    contextlib.closing(address.connect(real_clocks()))
                )

            with self.transcript.step("identify"):
                meter = link()
            self.identity = meter.identity
            require_no_energy(meter)
            if meter.state() is IntegratorState.START:
                raise MeterBusy(
                    f"The meter {meter.identity} is integrating. If a run uses the meter, end the run first. If no run "
                    "uses it, unlock its keys (`meter unlock ADDRESS`), and press STOP and RESET on the meter."
                )
            try:
                self._calls(meter, course)
            finally:
                meter.close()
                _put_right(link)

    def record(
        self,
        name: str,
        seconds: float,
        load_w: float | None = None,
        *,
        pulled: bool = False,
    ) -> None:
        """Record a run as `meter record` does, at the known load `load_w` if given, or with the link `pulled`."""
        clocks = real_clocks()
        course = Course(seconds, (), clocks.monotonic)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "run.csv")
            order = Order(self.address, self.setup, file, duration_s=seconds)
            with warnings_printed():
                run = self._try(name, lambda: recorded(order, course, clocks)[0])
        course.require_going_on()
        if run is None:
            return
        self.recordings[name] = [header_line(), *map(row, run.readings)]
        click.echo(f"{'':8} {name}: {figure(run.power_w, 'W')} on average.")
        for check in run.checks:
            expected = check.code in NOT_OF_THE_METER or (
                pulled and check.code == "reading-gaps"
            )
            if check.code == "integrator-trapezoid" or not (check.ok or expected):
                self._find(f"{name}-{check.code}", check.ok, check.sentence)
        if load_w is not None:
            near = abs(run.power_w - load_w) <= LOAD_TOLERANCE * load_w
            self._find(
                f"{name}-power",
                near,
                f"{figure(run.power_w, 'W')} measured, {load_w:g} W known.",
            )
        if pulled:
            back = [
                event.sentence
                for event in run.link_events
                if event.kind == "meter-back"
            ]
            self._find(
                "link-back",
                bool(back),
                " ".join(back)
                or "No lost and restored link was recorded. Pull the cable for about 5 s during the run.",
            )

    def facts(self) -> dict[str, object]:
        """Return the content of the file, ready for JSON."""
        return {
            "identity": self.identity
            and identity_facts(self.identity, standing(self.identity, self.address)),
            "setup": asdict(self.setup),
            "findings": [asdict(found) for found in self.findings],
            "conversation": self.transcript.conversation,
            "exchanges": self.transcript.exchanges,
            "recordings": self.recordings,
        }

    def masked(self, text: str) -> str:
        """Return a text with the address removed, and with the serial number masked unless the meter is simulated."""
        serial = self.identity.serial if self.identity else ""
        if len(serial) >= SHORTEST_SERIAL and not serial.startswith(SIMULATED):
            text = text.replace(serial, "X" * len(serial))
        resource = self.address.partition("@")[
            0
        ]  # sentences of the link name no backend
        text = text.replace(resource, "ADDRESS")
        host = host_of(resource)
        return text.replace(repr(host), "'HOST'") if host else text

    def _calls(self, meter: Meter, course: Course) -> None:
        def call(name: str, *given: str | Setup) -> Any:
            course.require_going_on()
            return self._try(name, lambda: called(name, *given))

        def called(name: str, *given: str | Setup) -> Any:
            with self.transcript.step(name, *map(_words, given)):
                return getattr(meter, name)(*given)

        element = self.setup.element
        interval_s = self.setup.update_interval_s
        updates = Updates(lambda: called("read_update"), course.wait, interval_s)
        call("look", element)
        before = call("status")
        for name in ("choices", "peaks", "read", "zero"):
            call(name)
        call("attach", element)
        for _ in range(2):
            call("configure", self.setup)
            if not self.findings[-1].ok:  # nothing would reset what is started now
                return
            left = self._try("read", updates.emptied)
            # Also -0, which a meter shows after integrating a slightly negative power. NaN means no data yet.
            left_wh = left and (
                0.0 if math.isnan(left.energy_wh) else abs(left.energy_wh)
            )
            self._same("reset", "WH is 0 after the reset", 0.0, left_wh)
            self._same(
                "settings",
                "Every setting reads back as it was set",
                (),
                call("changes", self.setup),
            )
            before_s = self._try("update", updates.let_one_pass)
            call("start")
            # START is the last message that a driver writes; after it, the driver queries whether the meter integrates.
            since_update_s = self.transcript.last_written_s() - (before_s or -math.inf)
            followed = self._try("updates", updates.after_start)
            if followed:
                self._find(
                    "start-update",
                    True,
                    start_sentence(followed, interval_s, since_update_s),
                )
            call("stop")
            final, later = (
                reading and str(reading.energy_wh)
                for reading in (call("read_final"), call("read"))
            )
            self._same("stopped", "WH does not change after the stop", final, later)
        call("restore")
        found, left = (
            one and {**asdict(one), **dict.fromkeys(MOVING)}
            for one in (before, call("status"))
        )
        self._same("restored", "The former settings are restored", found, left)

    def _try(self, name: str, call: Callable[[], Any]) -> Any:
        first = len(self.transcript.exchanges)
        try:
            found = call()
        except MeterError as error:
            self._find(name, False, error.sentence, "error")
            if isinstance(error, MeterLost):
                raise
            return None
        said = self.transcript.exchanges[first:]
        slowest_ms = max((exchange["took_ms"] for exchange in said), default=0.0)
        self._find(
            name,
            True,
            f"{len(said)} message{'s'[: len(said) != 1]}, the slowest answer {slowest_ms:.3g} ms.",
        )
        return found

    def _same(self, name: str, what: str, wanted: object, found: object) -> None:
        if wanted is not None and found is not None:
            differs = "" if found == wanted else f": no, it is {found}, not {wanted}"
            self._find(name, not differs, f"{what}{differs}.")

    def _find(
        self, name: str, ok: bool, sentence: str, severity: Any = "warning"
    ) -> None:
        self.findings.append(Check(name.replace("_", "-"), ok, severity, sentence))
        verdict = "ok" if ok else "differs" if severity == "warning" else "failed"
        click.echo(f"{verdict:8} {self.findings[-1].code}: {sentence}")


def _put_right(link: Callable[[], Meter]) -> None:
    """Stop the meter and restore its settings over a new link, in case a lost link ended the self-test."""
    for left in reversed(range(RETRIES)):
        try:
            meter = link()
            meter.stop()
            meter.restore()
        except PassingMeterError:
            if not left:
                raise
            real_clocks().pause(RETRY_S)
        else:
            return


def _words(given: str | Setup) -> str:
    return (
        given
        if isinstance(given, str)
        else " ".join(f"{k}={v}" for k, v in asdict(given).items())
    )
