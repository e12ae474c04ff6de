"""The parts of `meter certify`: the driver's calls one by one, recorded runs, a link that is pulled."""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final, cast

from power.addresses import open_meter
from power.cli.program import Course
from power.cli.recording_run import Order, recorded
from power.cli.transcript import Told, Transcript
from power.clocks import real_clocks
from power.energy import Check
from power.errors import MeterBusy, MeterError, MeterLost
from power.meter import SIMULATED, Identity, IntegratorState, Meter, Reading, Setup, Status
from power.recording import header_line, row
from power.report.readings import check_facts, figure, identity_facts
from power.report.recorded import Recorded
from power.sampling.connection import require_no_energy
from power.sampling.polling import idle_readings

FORM: Final = "meter-certify-1"
SHORT_S: Final = 3.0
"""How long the integrator runs for the calls one by one: a few counts of TIME, which is in whole seconds."""
LOAD_TOLERANCE: Final = 0.05
"""Of the known load: enough to find a wrong element, a wrong wire or a ratio, not to judge the accuracy."""
NOT_OF_THE_METER: Final = ("official-meter", "accuracy", "low-load")
"""Checks of the choice of meter, ranges and load."""
SHORTEST_SERIAL: Final = 4
"""A shorter serial number would be found everywhere in the file."""


@dataclass
class Certification:
    """Owns a self-test of the meter at an address: what was found, said and recorded so far.

    `show` gets each finding as it comes: one that is not ok `differs` (severity warning) or `failed` (error).
    """

    address: str
    setup: Setup
    show: Callable[[Check], None]
    findings: list[Check] = field(default_factory=list)
    recordings: dict[str, list[str]] = field(default_factory=dict)
    transcript: Transcript = field(default_factory=lambda: Transcript(real_clocks().monotonic))
    identity: Identity | None = None

    def converse(self) -> None:
        """Make every call of the driver once, and stop, reset and start the integrator again.

        Raises MeterError `meter-busy`, before anything is set, if the meter integrates or holds an energy.
        """
        course = Course(None, (), real_clocks().monotonic)
        with course.interruptible(), contextlib.ExitStack() as stack:
            opening = open_meter(self.address, real_clocks())
            opened: Meter = self.transcript.told("identify", lambda: stack.enter_context(opening))
            self.identity, meter = opened.identity, cast("Meter", Told(opened, self.transcript))
            require_no_energy(meter)
            if meter.state() is IntegratorState.START:
                raise MeterBusy(
                    f"The meter {opened.identity} is integrating; end the run that uses it first."
                )
            stack.callback(_put_right, opened)
            self._calls(meter, course)

    def record(
        self, name: str, seconds: float, load_w: float | None = None, known: tuple[str, ...] = ()
    ) -> None:
        """Record a run as `meter record` does, with all its checks but the `known` ones; `load_w` is the known load."""
        course = Course(seconds, (), real_clocks().monotonic)
        with tempfile.TemporaryDirectory() as folder:
            order = Order(self.address, self.setup, Path(folder, "run.csv"), False, None, False, False)
            run = self._try(name, lambda: recorded(order, course).recorded)
        course.require_going_on()
        if run is None:
            return
        self.recordings[name] = [header_line(), *map(row, run.readings)]
        for check in run.checks:
            shown = check.code == "integrator-trapezoid" or not check.ok
            if shown and check.code not in (*NOT_OF_THE_METER, *known):
                self._find(f"{name}-{check.code}", check.ok, check.sentence)
        if load_w is not None:
            near = abs(run.power_w - load_w) <= LOAD_TOLERANCE * load_w
            self._find(f"{name}-power", near, f"{figure(run.power_w, 'W')} measured, {load_w:g} W known.")
        if name == "link":
            self._pulled(run)

    def facts(self, version: str, skipped: list[str]) -> dict[str, object]:
        """Return everything, ready for JSON."""
        identity = self.identity
        return {
            "form": FORM,
            "version": version,
            "interface": self.address.partition(":")[0],
            "identity": identity_facts(identity) if identity else None,
            "setup": asdict(self.setup),
            "findings": [check_facts(found) for found in self.findings],
            "skipped": skipped,
            "conversation": [*self.transcript.conversation],
            "exchanges": [asdict(exchange) for exchange in self.transcript.exchanges],
            "recordings": self.recordings,
        }

    def masked(self, text: str) -> str:
        """Return a text without the address, and without the serial number unless it is that of a simulated meter."""
        text = text.replace(self.address, "ADDRESS")
        serial = self.identity.serial if self.identity else ""
        if len(serial) < SHORTEST_SERIAL or serial.startswith(SIMULATED):
            return text
        return text.replace(serial, "X" * len(serial))

    def _calls(self, meter: Meter, course: Course) -> None:
        def call(name: str, *given: Any) -> Any:
            course.require_going_on()
            return self._try(name, lambda: getattr(meter, name)(*given))

        interval_s = self.setup.update_interval_s
        lasting_s = max(SHORT_S, 4 * interval_s)
        call("look", self.setup.element)
        before = call("status")
        for name in ("choices", "peaks", "read", "zero"):
            call(name)
        call("attach", self.setup.element)
        for _ in range(2):
            call("configure", self.setup)
            self._nothing_left(call("read"))
            changes = call("changes", self.setup)
            self._find(
                "settings", not changes, "; ".join(changes or ()) or "Every setting reads back as it was set."
            )
            call("start")
            self._try("read_update", lambda: idle_readings(meter, lasting_s, interval_s, course.wait))
            call("stop")
            self._kept(call("read_final"), call("read"))
        call("restore")
        self._restored(before, call("status"))

    def _try(self, name: str, call: Callable[[], Any]) -> Any:
        first = len(self.transcript.exchanges)
        try:
            found = call()
        except MeterError as error:
            self._find(name, False, error.sentence, "error")
            if isinstance(error, MeterLost):
                raise
            return None
        took_ms = [exchange.took_ms for exchange in self.transcript.exchanges[first:] if exchange.took_ms]
        slowest = f", the slowest answer after {max(took_ms):.3g} ms" if took_ms else ""
        self._find(name, True, f"{len(self.transcript.exchanges) - first} messages{slowest}.")
        return found

    def _find(self, name: str, ok: bool, sentence: str, severity: Any = "warning") -> None:
        self.findings.append(Check(name.replace("_", "-"), ok, severity, sentence))
        self.show(self.findings[-1])

    def _nothing_left(self, reading: Reading | None) -> None:
        if reading is not None:
            left = [one for one in (reading.energy_wh, reading.integrator_s) if one and not math.isnan(one)]
            said = f"After the reset WH is {reading.energy_wh:g} and TIME {reading.integrator_s:g}."
            self._find("reset", not left, said)

    def _kept(self, final: Reading | None, later: Reading | None) -> None:
        if final is not None and later is not None:
            same = str(final.energy_wh) == str(later.energy_wh)
            said = f"After the stop WH is {final.energy_wh:g}, and {later.energy_wh:g} when it is read again."
            self._find("stopped", same, said)

    def _restored(self, before: Status | None, after: Status | None) -> None:
        if before is None or after is None:
            return
        # Automatic ranges move, fixed ones were read back when they were restored; errors are gone once they are read.
        free: dict[str, Any] = {"voltage_range_v": 0.0, "current_range_a": 0.0, "errors": ()}
        found, left = asdict(replace(before, **free)), asdict(replace(after, **free))
        changed = [
            f"{name} was {found[name]}, is {left[name]}" for name in found if found[name] != left[name]
        ]
        self._find(
            "settings-restored", not changed, "; ".join(changed) or "All settings are as they were found."
        )

    def _pulled(self, run: Recorded) -> None:
        kinds = [event.kind for event in run.link_events]
        back = [event.sentence for event in run.link_events if event.kind == "meter-back"]
        said = " ".join(back) or "The link was not lost, or did not come back."
        self._find("link-back", bool(back) and kinds[0] == "meter-lost", said)


def _put_right(meter: Meter) -> None:
    with contextlib.suppress(MeterError):
        meter.stop()
        meter.restore()
