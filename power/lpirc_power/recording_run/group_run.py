"""Several meters that record one run on one clock: all armed first, started together, stopped together."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

from lpirc_power.addresses.visa_address import place_here
from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterBusy, MeterError
from lpirc_power.marks.mark_list import MarkList
from lpirc_power.meter import SIMULATED, Identity
from lpirc_power.presence import is_there
from lpirc_power.record.document import GroupRecord, Member, Part
from lpirc_power.record.record_file import record_path
from lpirc_power.recording_run.course import Course
from lpirc_power.recording_run.kept_record import (
    printable,
    program_version,
    require_free_record,
    require_text_name,
    written,
)
from lpirc_power.recording_run.recorder import Order, Recorder
from lpirc_power.recording_run.single_run import keep_marks, marked, problem_of
from lpirc_power.report.group_report import Group
from lpirc_power.report.recording_report import Recorded

Answer = TypeVar("Answer")
ENDING: Final = ".csv"


def group_order(order: Order, name: str, address: str) -> Order:
    """Return the order for one meter of a group: its file is run.NAME.csv for run.csv, and for run."""
    whole = order.output
    ending = (
        whole.suffix or ENDING
    )  # else NAME would be the ending, which a record's file replaces
    return replace(
        order,
        address=address,
        output=whole.with_name(f"{whole.stem}.{name}{ending}"),
        part=Part("group", record_path(whole).name, name),
    )


def _only_key(found: Identity | None, address: str) -> str | None:
    """Return what no other meter has: its identity, or the address of a simulated one; None if nothing is known."""
    if found is None:
        return None
    if found.serial != SIMULATED:
        return str(found)
    return place_here(address)  # simulated meters of no serial number are all alike


class GroupRun:
    """One run of a group of meters, by name. `problem` says what a person must know of it, None if all is well.

    A meter that fails before the start ends the run, since nothing is lost then. One that fails later has no energy;
    the others have theirs.
    """

    def __init__(
        self, addresses: Mapping[str, str], order: Order, course: Course, clocks: Clocks
    ) -> None:
        """Check addresses and files, before a meter is asked anything. Raises MeterError."""
        self.problem: str | None = None
        self._order = order
        self._course = course
        self._clocks = clocks
        require_text_name(order.output)
        self._path = require_free_record(order.output, force=order.force)
        self._recorders = {
            name: Recorder(group_order(order, name, address), clocks)
            for name, address in addresses.items()
        }
        self._failed: dict[str, str] = {}

    def run(self) -> Group:
        """Record, and return the group. Raises MeterError if no meter has an energy."""
        marks = MarkList()
        self._order.watcher.on_marks(marks)
        with self._course.interruptible():
            try:
                with marked(self._order, self._course, marks, self._clocks):
                    self._each(lambda one: one.arm(self._course.require_going_on))
                    self._require_different()
                    with contextlib.ExitStack() as files:
                        for one in self._recorders.values():
                            files.enter_context(one.files())
                        files.enter_context(self._named())
                        self._measure(marks)
            finally:
                for one in self._recorders.values():
                    one.close()
        return self._group(marks)

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Write the record of the group, in case this program is killed; remove a new one if nothing is measured."""
        is_new = not is_there(self._path)
        written(self._path, self._record())
        try:
            yield
        except BaseException:
            if is_new:
                self._path.unlink(missing_ok=True)
            raise

    def _record(self) -> GroupRecord:
        members = tuple(
            Member(
                name,
                record_path(Path(one.order.output)).name,
                self._failed.get(name, ""),
            )
            for name, one in self._recorders.items()
        )
        return GroupRecord(program_version(), members, printable(self._order.command))

    def _require_different(self) -> None:
        """Raise MeterError if two addresses lead to one meter."""
        seen: dict[str, str] = {}
        for name, one in self._recorders.items():
            found = one.identity
            key = _only_key(found, one.order.address)
            if key is None:
                continue
            other = seen.setdefault(key, name)
            if other != name:
                raise MeterBusy(
                    f"{other} and {name} are the same meter, {found}; two recordings cannot use one integrator."
                )

    def _measure(self, marks: MarkList) -> None:
        try:
            self._each(Recorder.start)
            with self._course.running():
                self._each(Recorder.note_start)
                keep_marks(self._course.wait, marks, self._recorders.values())
        finally:
            self._stop()

    def _stop(self) -> None:
        exit_code = self._course.exit_code
        is_cut_short = self._course.is_cut_short
        for one in self._recorders.values():
            one.note_outcome(exit_code, interrupted=is_cut_short)
        with ThreadPoolExecutor(len(self._recorders)) as threads:
            stops = {
                name: threads.submit(one.stop)
                for name, one in self._recorders.items()
                if one.is_started
            }
        for name, stop in stops.items():
            error = stop.exception()
            if isinstance(error, MeterError):
                self._failed[name] = error.sentence
            elif error is not None:
                raise error

    def _each(self, act: Callable[[Recorder], Answer]) -> None:
        """Do the same with all meters at once; raise the first failure, naming the meter."""
        with ThreadPoolExecutor(len(self._recorders)) as threads:
            done = {
                name: threads.submit(act, one) for name, one in self._recorders.items()
            }
        for name, one in done.items():
            error = one.exception()
            if isinstance(error, MeterError):
                raise MeterError(error.code, f"{name}: {error.sentence}") from error
            if error is not None:
                raise error

    def _group(self, marks: MarkList) -> Group:
        whole = {
            name: one
            for name, one in self._recorders.items()
            if name not in self._failed
        }
        if not whole:
            raise MeterError("meter-lost", " ".join(self._failed.values()))
        found: dict[str, Recorded] = {}
        problems = [f"{name}: {why}" for name, why in self._failed.items()]
        for name, recorder in whole.items():
            found[name] = recorder.recorded(marks)
            problem = problem_of(found[name], recorder)
            problems += [f"{name}: {problem}"] if problem else []
        record = self._record()
        error = written(self._path, record)
        if error is not None:
            problems.append(
                f"{self._path} cannot be written: {error.strerror or error}."
            )
        self.problem = " ".join(problems) or None
        return Group(record, found, str(self._path))
