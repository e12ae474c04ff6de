"""One meter's recording: armed, recorded to its files, stopped, and its settings restored."""

from __future__ import annotations

import contextlib
import math
import platform
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from lpirc_power.addresses.meter_address import standing, statement_at
from lpirc_power.clocks import Clocks
from lpirc_power.energy import Measurement
from lpirc_power.energy.budget import BUDGET_VERSION
from lpirc_power.errors import MeterBusy, MeterError, PassingMeterError
from lpirc_power.marks.mark_list import MarkList
from lpirc_power.measurement_files.recorded_files import doubts_of
from lpirc_power.meter import Identity, Meter, Reading, Setup
from lpirc_power.record.document import Ended, Mark, Moment, Part, Record, Started
from lpirc_power.recording import row
from lpirc_power.recording_run.kept_record import (
    KeptRecord,
    printable,
    program_version,
)
from lpirc_power.recording_run.logbook import Logbook, require_ending
from lpirc_power.recording_run.watcher import Watcher
from lpirc_power.report.recording_report import Recorded
from lpirc_power.sampling.armed_meter import lacks_ranges, require_ranges
from lpirc_power.sampling.polling import Idle
from lpirc_power.sampling.sampler import LinkEvent, Sampler

NOBODY: Final = Watcher()
LONGEST_PAUSE_S: Final = 0.2
"""Longest pause between two questions whether to go on waiting."""


@dataclass(frozen=True)
class Order:
    """A recording's parameters: the meter, the setup, the CSV file, and what comes before the start.

    Once the meter is armed, it waits for `warm_up_s` and then measures the idle power for `idle_s`. `cool_down_s` is
    only noted. A `duration_s` also sets the integrator's timer. Marks are taken at `marks_path`; None: at a path of
    their own, for a command. `idle` is an idle power that was measured before; one measured now replaces it.
    """

    address: str
    setup: Setup
    output: Path
    force: bool = False
    idle_s: float | None = None
    take_over: bool = False
    duration_s: float | None = None
    warm_up_s: float = 0.0
    cool_down_s: float = 0.0
    command: tuple[str, ...] = ()
    part: Part | None = None
    marks_path: Path | None = None
    watcher: Watcher = NOBODY
    idle: Idle | None = None

    def __post_init__(self) -> None:
        """Raise MeterError `recording-file` for a name of another format: x.json is the name of a record."""
        require_ending(self.output, "a recording, a CSV file", (".csv", ".txt"))

    @property
    def name(self) -> str:
        """The name of the recording: that of its file, without the ending."""
        return self.output.stem


class Recorder:
    """A recording of one meter; owns its sampler, its CSV file and its record.

    `arm`, then a with statement over `files`, in it `start` and `stop`; `close` at the end, whatever happens.
    """

    def __init__(self, order: Order, clocks: Clocks) -> None:
        """Check the address and the files, before the meter is asked anything. Raises MeterError."""
        self.order = order
        self.logbook = Logbook(order.output, force=order.force)
        self._clocks = clocks
        self._events: list[LinkEvent] = []
        timer_s = 0 if order.duration_s is None else math.ceil(order.duration_s)
        # The timer ends the integral on the meter's own clock, even if this program dies.
        self._setup = replace(order.setup, integrator_timer_s=timer_s)
        self.kept = KeptRecord(self._record(), order.output, force=order.force)
        self._identity: Identity | None = None
        self._idle = order.idle
        self._start: Moment | None = None
        self._end: Moment | None = None
        self._row = ""
        self._exit_code = 0
        self._is_interrupted = False
        self._measured: Measurement | None = None
        self._sampler = Sampler(
            order.address,
            self._setup,
            self._take,
            clocks.monotonic,
            clocks.utcnow,
            on_link=self._link,
            name=order.part.name if order.part and order.part.kind == "group" else "",
        )

    def arm(self, require_going_on: Callable[[], object] = lambda: None) -> Identity:
        """Set the meter up, wait for `warm_up_s`, and measure the idle power.

        `require_going_on` may raise to end the waiting.
        """
        self._identity = self._armed()
        self.order.watcher.on_armed(self.order.name, self._identity)
        self._wait(self.order.warm_up_s, require_going_on)
        if self.order.idle_s is not None:
            self._idle = self._sampler.measure_idle(self.order.idle_s, require_going_on)
        require_going_on()
        return self._identity

    @contextlib.contextmanager
    def files(self) -> Iterator[None]:
        """Keep the files of the recording open for a with statement; remove new ones if no reading was taken."""
        try:
            with self.kept.kept(), self.logbook.opened():
                yield
        finally:
            has_result = self.logbook.written or self._measured is not None
            if self.logbook.is_discarded or not has_result:
                self.kept.remove_new()

    def start(self) -> Moment:
        """Start the integrator and the readings; return the beginning of the window."""
        self._sampler.start()
        self._start = self._now()
        self.order.watcher.on_start(self.order.name, self._start)
        return self._start

    @property
    def identity(self) -> Identity | None:
        """The identity of the armed meter."""
        return self._identity

    @property
    def is_started(self) -> bool:
        """True once the integrator was started."""
        return self._start is not None

    def note_start(self) -> None:
        """Write to the record that the integrator runs; call it when nothing else is urgent."""
        if self._identity is not None and self._start is not None:
            counts = standing(self._identity, self.order.address)
            started = Started(self._identity, counts, self._start, self._idle)
            self.kept.write(started=started)

    def note_marks(self, marks: Sequence[Mark]) -> None:
        """Write the marks so far to the record, for the case that this program is killed."""
        self.kept.write(marks=tuple(marks))

    def note_outcome(self, exit_code: int, *, interrupted: bool) -> None:
        """Note how the work ended, before the stop: the record of a program that is killed then says it too."""
        self._exit_code = exit_code
        self._is_interrupted = interrupted

    def stop(self) -> Measurement:
        """Stop the integrator, read the energy, and return the measurement, whose window ends now.

        MeterError if the energy could not be read; it says how many readings are in the file.
        """
        if self._identity is None or self._start is None:
            raise ValueError("stop without start")
        self._end = self._now()
        final = self._stopped()
        self._row = row(final)
        self.logbook.take(final)
        self._measured = self._measurement(
            self._identity, self._start, self._end, final
        )
        if self.kept.record.started is not None:
            # At once: whatever happens from now on, the energy is on the disk.
            self.logbook.sync()
            so_far = self.kept.record.marks
            self.kept.write(ended=self._ended(self._measured, so_far))
        self.order.watcher.on_stop(self.order.name, final)
        return self._measured

    def recorded(self, marks: MarkList | None = None) -> Recorded:
        """Complete the record, after the stop and outside of `files`, and return the recording."""
        measured = self._measured
        identity = self._identity
        if measured is None or identity is None or self._end is None:
            raise ValueError("recorded without stop")
        taken = MarkList() if marks is None else marks
        ended = replace(
            self._ended(measured, taken.marks),
            marks_lost=taken.lost + taken.refused,
        )
        self.kept.write(ended=ended, marks=())
        readings = self.logbook.readings
        return Recorded(
            identity=identity,
            measured=measured,
            readings=readings,
            idle=self._idle,
            link_events=tuple(self._events),
            file=str(self.logbook.path),
            rows=self.logbook.written,
            marks=ended.marks,
            record=self.kept.record,
            doubts=doubts_of(self.kept.record, readings),
        )

    def close(self) -> None:
        """Close the link, and restore the meter's settings if that costs no energy."""
        self._sampler.close()

    def _ended(self, measured: Measurement, marks: tuple[Mark, ...]) -> Ended:
        if self._end is None:
            raise ValueError("ended without stop")
        return Ended(
            measured,
            self._end,
            self._row,
            self.logbook.taken,
            self.logbook.written,
            self.logbook.sha256,
            tuple(self._events),
            exit_code=self._exit_code,
            marks=marks,
            damage=self.logbook.damage,
            interrupted=self._is_interrupted,
        )

    def _measurement(
        self, identity: Identity, start: Moment, end: Moment, final: Reading
    ) -> Measurement:
        end_s = end.monotonic_s
        if self._setup.integrator_timer_s:
            # Its timer ends the integral, however late this program notices.
            end_s = min(end_s, start.monotonic_s + self._setup.integrator_timer_s)
        ran_s = self._sampler.ran_s
        counts = standing(identity, self.order.address)
        stated = statement_at(self.order.address, identity)
        return Measurement(
            integrator_wh=final.energy_wh,
            integrator_s=final.integrator_s,
            start_s=start.monotonic_s,
            end_s=end_s,
            setup=self._setup,
            model=identity.model,
            limits=stated.limits,
            limits_refused=stated.refused,
            official=counts.official,
            changes=self._sampler.changes,
            start_stop_s=None if ran_s is None else ran_s - (end_s - start.monotonic_s),
            late_s=self._sampler.late_s,
            standing=counts,
        )

    def _take(self, reading: Reading) -> None:
        self.logbook.take(reading)
        self.order.watcher.on_reading(self.order.name, reading)

    def _link(self, event: LinkEvent) -> None:
        self._events.append(event)
        self.order.watcher.on_link(self.order.name, event)

    def _armed(self) -> Identity:
        take_over = self.order.take_over
        try:
            return self._sampler.arm(
                take_over=take_over, spare_energy=True, inspect=self._fit
            )
        except MeterBusy as error:
            if take_over:
                raise
            raise MeterBusy(
                f"{error.sentence} Or add --take-over, which discards the energy in the meter."
            ) from error

    def _fit(self, meter: Meter) -> None:
        """Refuse ranges for a meter without any; one of a group shares its options with meters that may have some."""
        part = self.order.part
        if part is None or part.kind != "group":
            require_ranges(meter, self._setup)
        elif lacks_ranges(meter, self._setup):
            self._setup = replace(
                self._setup, voltage_range_v=None, current_range_a=None
            )
            self.kept.record = replace(self.kept.record, setup=self._setup)

    def _stopped(self) -> Reading:
        try:
            return self._sampler.stop()
        except MeterError as error:
            raise MeterError(
                error.code,
                f"{error.sentence} The energy could not be read{self._what_runs_on(error)}. "
                f"{self.logbook.taken} readings are in {self.logbook.path}: `meter check` and "
                "`meter report` of it give the energy up to the last one.",
            ) from error

    def _what_runs_on(self, error: MeterError) -> str:
        """Return what the meter may do now, and how to see it, as the end of a sentence."""
        if self._sampler.integrates_here:
            return ", and the meter keeps none when this program ends"
        probe = "run `meter probe` as soon as the meter answers"
        if isinstance(error, PassingMeterError):
            return f", and the meter may still be integrating: {probe}"
        return f": {probe}"

    def _wait(self, seconds: float, require_going_on: Callable[[], object]) -> None:
        until_s = self._clocks.monotonic() + seconds
        while (left_s := until_s - self._clocks.monotonic()) > 0:
            require_going_on()
            self._clocks.pause(min(left_s, LONGEST_PAUSE_S))

    def _now(self) -> Moment:
        return Moment(self._clocks.monotonic(), self._clocks.utcnow())

    def _record(self) -> Record:
        order = self.order
        return Record(
            program=program_version(),
            address=order.address,
            file=order.output.name,
            host=platform.node(),
            written=self._clocks.utcnow(),
            setup=self._setup,
            command=printable(order.command),
            warm_up_s=order.warm_up_s,
            cool_down_s=order.cool_down_s,
            part=order.part,
            budget_version=BUDGET_VERSION,
        )
