"""One recording from arming the meter to restoring its settings."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

from lpirc_power.cli.boundary import warnings_printed
from lpirc_power.cli.logbook import Logbook
from lpirc_power.cli.program import Course
from lpirc_power.clocks import real_clocks
from lpirc_power.energy import Measurement
from lpirc_power.errors import MeterBusy, MeterError, PassingMeterError
from lpirc_power.meter import Identity, Reading, Setup
from lpirc_power.meter_address import limits_of, standing
from lpirc_power.report.recording_report import Recorded
from lpirc_power.sampling.sampler import LinkEvent, Sampler


@dataclass(frozen=True)
class Order:
    """A recording's parameters: the meter, the setup, the file and the options."""

    address: str
    setup: Setup
    output: Path
    force: bool
    idle_s: float | None
    take_over: bool


def recorded(order: Order, course: Course) -> tuple[Recorded, str | None]:
    """Record, and return the recording with a sentence about its problem, or None if there is none."""
    logbook = Logbook(order.output, force=order.force)
    with warnings_printed(), course.interruptible():
        found = _Run(order, course, logbook).recorded()
    return found, _problem(found, logbook)


class _Run:
    """One recording; owns its sampler until the meter's settings are restored."""

    def __init__(self, order: Order, course: Course, logbook: Logbook) -> None:
        self._order = order
        self._course = course
        self._logbook = logbook
        self._clocks = real_clocks()
        self._events: list[LinkEvent] = []
        timer_s = 0 if course.duration_s is None else math.ceil(course.duration_s)
        # The timer ends the integral on the meter's own clock, even if this program dies.
        self._setup = replace(order.setup, integrator_timer_s=timer_s)
        self._sampler = Sampler(
            order.address,
            self._setup,
            logbook.take,
            self._clocks.monotonic,
            self._clocks.utcnow,
            on_link=self._events.append,
        )

    def recorded(self) -> Recorded:
        """Arm the meter, record, stop it and restore its settings; return the recording."""
        try:
            identity = self._armed()
            idle = None
            if self._order.idle_s is not None:
                idle = self._sampler.measure_idle(
                    self._order.idle_s, self._course.require_going_on
                )
            self._course.require_going_on()
            with self._logbook.opened():
                measured = self._measured(identity)
        finally:
            self._sampler.close()
        readings = tuple(self._logbook.readings)
        path = str(self._logbook.path)
        rows = self._logbook.written
        return Recorded(
            identity, measured, readings, idle, tuple(self._events), path, rows
        )

    def _armed(self) -> Identity:
        try:
            return self._sampler.arm(take_over=self._order.take_over, spare_energy=True)
        except MeterBusy as error:
            if self._order.take_over:
                raise
            raise MeterBusy(
                f"{error.sentence} Or add --take-over, which discards the energy in the meter."
            ) from error

    def _measured(self, identity: Identity) -> Measurement:
        self._sampler.start()
        start_s = self._clocks.monotonic()
        try:
            with self._course.running():
                self._course.wait()
        finally:
            end_s = self._clocks.monotonic()
            final = self._stopped()
        if self._setup.integrator_timer_s:
            # Its timer ends the integral, however late this program notices.
            end_s = min(end_s, start_s + self._setup.integrator_timer_s)
        elapsed_s = end_s - start_s
        ran_s = self._sampler.ran_s
        self._logbook.take(final)
        counts = standing(identity, self._order.address)
        return Measurement(
            integrator_wh=final.energy_wh,
            integrator_s=final.integrator_s,
            start_s=start_s,
            end_s=end_s,
            setup=self._setup,
            model=identity.model,
            limits=limits_of(identity.model),
            official=counts.official,
            changes=self._sampler.changes,
            start_stop_s=None if ran_s is None else ran_s - elapsed_s,
            late_s=self._sampler.late_s,
            standing=counts,
        )

    def _stopped(self) -> Reading:
        try:
            return self._sampler.stop()
        except MeterError as error:
            runs_on = (
                ", and the meter may still be integrating"
                if isinstance(error, PassingMeterError)
                else ""
            )
            raise MeterError(
                error.code,
                f"{error.sentence} The energy could not be read{runs_on}: run `meter probe` as soon as "
                f"the meter answers. {len(self._logbook.readings)} readings are in {self._logbook.path}.",
            ) from error


def _problem(found: Recorded, logbook: Logbook) -> str | None:
    sentences = []
    if found.no_energy:
        sentences.append(found.no_energy)
    elif found.failed:
        codes = ", ".join(found.failed)
        sentences.append(
            f"The energy needs review: {codes}. Record again, or report this together with the energy."
        )
    if logbook.error is not None:
        why = logbook.error.strerror or logbook.error
        sentences.append(
            f"{found.file} is incomplete: it holds {found.rows} of {len(found.readings)} readings ({why})."
        )
    return " ".join(sentences) or None
