"""A series of attempts: a command or a time, recorded again and again, until there are enough."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Final, Literal

from lpirc_power.clocks import Clocks
from lpirc_power.energy.spread import half_of_mean
from lpirc_power.errors import MeterError
from lpirc_power.presence import is_there
from lpirc_power.record.document import LeftOut, Part, SeriesRecord
from lpirc_power.record.record_file import record_path
from lpirc_power.recording_run.course import Course
from lpirc_power.recording_run.kept_record import (
    printable,
    program_version,
    require_free_record,
    require_text_name,
    written,
)
from lpirc_power.recording_run.logbook import require_free
from lpirc_power.recording_run.recorder import LONGEST_PAUSE_S, Order
from lpirc_power.recording_run.single_run import recorded
from lpirc_power.report.incomplete import why_not_counted
from lpirc_power.report.recording_report import Recorded
from lpirc_power.report.rounded import half_words
from lpirc_power.report.series_report import Series, attempt_words

LEAST_STABLE: Final = 5
"""Attempts before a series may end as stable: with fewer, the interval is narrow by chance too often."""
IN_A_ROW: Final = 3
"""Attempts after each of which it must be stable: a series that ends at its luckiest moment holds less than it says."""
LEAST_TO_END: Final = LEAST_STABLE + IN_A_ROW - 1
"""Attempts after which a series can end as stable at the earliest."""
MOST_STABLE: Final = 60
"""Attempts after which a series that is not stable gives up, unless another number is given.

With fewer, the series that get there at all are often the lucky ones.
"""
BETWEEN: Final = "The series was interrupted between two attempts."
MOST_UNMADE: Final = 3
"""Attempts in a row without a recording, as when the meter is unplugged, after which a series ends."""
MOST_NAMED: Final = 3
"""Attempts that failed which the last sentence quotes; the report has all."""


@dataclass(frozen=True)
class SeriesOrder:
    """A series: `order` is that of each attempt, whose file is the name of the series.

    `warm_up` attempts do not count. Then there are `attempts`, or at most as many if the series ends once the interval
    of the mean is within `stable`, a part of 1. `cool_down_s` passes between two attempts.
    """

    order: Order
    attempts: int
    warm_up: int = 0
    stable: float | None = None
    cool_down_s: float = 0.0

    def output(self, kind: Kind, number: int) -> Path:
        """Return the CSV file of an attempt: run-1.csv, or run-warm-up-1.csv."""
        whole = self.order.output
        word = "warm-up-" if kind == "warm-up" else ""
        return whole.with_name(f"{whole.stem}-{word}{number}{whole.suffix}")


Kind = Literal["warm-up", "attempt"]
Told = Callable[[str], object]
"""What is told of each attempt: a line."""


def is_stable(energies_wh: Sequence[float], stable: float) -> bool:
    """Return True if the interval of the mean was within `stable` of it after each of the last IN_A_ROW attempts."""
    count = len(energies_wh)
    if count < LEAST_STABLE:
        return False
    counts = range(count - IN_A_ROW + 1, count + 1)
    return all(_is_narrow(energies_wh[:one], stable) for one in counts)


def _is_narrow(energies_wh: Sequence[float], stable: float) -> bool:
    if len(energies_wh) < LEAST_STABLE:
        return False
    half_wh = half_of_mean(energies_wh)
    return half_wh is not None and half_wh <= stable * abs(fmean(energies_wh))


class SeriesRun:
    """One series; `run` records it. `exit_code` is that of the attempt that ended it, `problem` says why it failed.

    A failure ends the series until an attempt has gone well: the meter, the setup or COMMAND is wrong. Later, the
    attempt is left out and the series goes on, with exit code 1.
    """

    def __init__(
        self,
        wanted: SeriesOrder,
        course: Callable[[], Course],
        clocks: Clocks,
        told: Told,
    ) -> None:
        """Check that the files can be written, before the meter is asked anything. Raises MeterError."""
        self.exit_code = 0
        self.problem: str | None = None
        self._wanted = wanted
        self._course = course
        self._clocks = clocks
        self._told = told
        order = wanted.order
        require_text_name(order.output)
        self._path = require_free_record(order.output, force=order.force)
        for kind, number in self._attempts():
            path = wanted.output(kind, number)
            require_free(path, force=order.force)
            require_free_record(path, force=order.force)
        self._counted: list[Recorded] = []
        self._before: list[Recorded] = []
        self._left_out: list[LeftOut] = []
        self._unmade = 0
        self._unwritten = ""
        self._stopped = ""
        self._ended = False

    def run(self) -> Series:
        """Record the attempts and return the series, also if it was stopped; MeterError if there is no attempt."""
        is_new = not is_there(self._path)
        self._write()
        try:
            self._run_unless_interrupted()
        except BaseException:
            if is_new:
                self._path.unlink(missing_ok=True)
            raise
        self._write()
        self.problem = self._problem()
        return self._series()

    def _problem(self) -> str | None:
        has_failed = bool(self.exit_code or self._left_out or not self._counted)
        found = []
        if not self._counted:
            found.append("No attempt counts.")
        if has_failed:
            found.append(f"{self._stopped[:1].upper()}{self._stopped[1:]}")
        if self._left_out:
            found.append(self._left_out_words())
        found.append(self._unwritten)
        return " ".join(filter(None, found)) or None

    def _left_out_words(self) -> str:
        words = [
            f"{one.name} does not count: {one.why}"
            for one in self._left_out[:MOST_NAMED]
        ]
        more = len(self._left_out) - MOST_NAMED
        words += [f"And {more} more."] if more > 0 else []
        return " ".join(words)

    def _run_unless_interrupted(self) -> None:
        """Record the attempts; a signal at whatever moment ends them, and costs none that counts."""
        try:
            self._run()
        except KeyboardInterrupt:
            if not self._counted:
                raise
            self._stopped = BETWEEN

    def _run(self) -> None:
        is_first = True
        for kind, number in self._attempts():
            if not (is_first or self._cooled()):
                break
            is_first = False
            self._attempt(kind, number)
            self._write()
            if self._ended or self._is_stable():
                break
        else:
            if self._wanted.stable is not None:
                self._stopped = self._gave_up()

    def _attempts(self) -> Iterator[tuple[Kind, int]]:
        for number in range(1, self._wanted.warm_up + 1):
            yield "warm-up", number
        for number in range(1, self._wanted.attempts + 1):
            yield "attempt", number

    def _attempt(self, kind: Kind, number: int) -> None:
        course = self._course()
        try:
            found, problem = recorded(self._order(kind, number), course, self._clocks)
        except MeterError as error:
            if not self._has_gone_well:
                raise
            self._leave_out(kind, number, error.sentence, "")
            return
        except KeyboardInterrupt:
            if not self._counted:
                raise
            self._stop(kind, number, "It was interrupted before it began.", 0)
            return
        self._judge(kind, number, course, found, problem)
        if course.is_interrupted and not self._ended:
            self._ended = True
            self._stopped = BETWEEN

    def _judge(
        self,
        kind: Kind,
        number: int,
        course: Course,
        found: Recorded,
        problem: str | None,
    ) -> None:
        """Count an attempt that was recorded, or not."""
        file = found.file
        if course.is_cut_short:
            self._stop(kind, number, f"It was interrupted; {file} does not count.", 0)
            return
        why = why_not_counted(found)
        if not (why or problem):
            (self._counted if kind == "attempt" else self._before).append(found)
            self._unmade = 0
            self._told(f"{kind} {number}: {attempt_words(found)}")
            return
        words = f"{file} {why}." if why else problem or ""
        if self._has_gone_well:
            self._leave_out(kind, number, words, _name(found))
        else:
            self._stop(kind, number, words, course.exit_code or 1)

    @property
    def _has_gone_well(self) -> bool:
        return bool(self._counted or self._before)

    def _leave_out(self, kind: Kind, number: int, why: str, record: str) -> None:
        """Go on without an attempt, unless so many in a row could not be made at all."""
        name = f"{kind} {number}"
        self._left_out.append(LeftOut(name, why, record))
        self._told(f"{name} does not count: {why}")
        self.exit_code = 1
        self._unmade = 0 if record else self._unmade + 1
        if self._unmade >= MOST_UNMADE:
            self._ended = True
            self._stopped = (
                f"{name} ended the series: {self._unmade} attempts in a row had no "
                "recording."
            )

    def _order(self, kind: Kind, number: int) -> Order:
        whole = record_path(self._wanted.order.output).name
        pause_s = self._wanted.cool_down_s if self._has_gone_well else 0.0
        return replace(
            self._wanted.order,
            output=self._wanted.output(kind, number),
            cool_down_s=pause_s,
            part=Part("series", whole, f"{kind} {number}", self._wanted.attempts),
        )

    def _stop(self, kind: str, number: int, why: str, exit_code: int) -> None:
        self._ended = True
        self.exit_code = self.exit_code or exit_code
        self._stopped = f"{kind} {number} ended the series. {why}"

    def _cooled(self) -> bool:
        """Wait for the cool-down; return False if a signal ended the series meanwhile."""
        until_s = self._clocks.monotonic() + self._wanted.cool_down_s
        try:
            while (left_s := until_s - self._clocks.monotonic()) > 0:
                self._clocks.pause(min(left_s, LONGEST_PAUSE_S))
        except KeyboardInterrupt:
            if not self._counted:
                raise
            self._stopped = BETWEEN
            return False
        return True

    def _is_stable(self) -> bool:
        stable = self._wanted.stable
        energies_wh = [one.energy_wh for one in self._counted]
        return stable is not None and is_stable(energies_wh, stable)

    def _gave_up(self) -> str:
        if self._is_stable():
            return ""
        self.exit_code = 1
        relative = self._series().relative_half
        now = "unknown" if relative is None else half_words(100 * relative, "%")
        wanted = 100 * (self._wanted.stable or 0.0)
        return (
            f"After {len(self._counted)} attempts the interval of the mean is {now}, not yet {IN_A_ROW} times in a "
            f"row within +-{wanted:g} %: look for what changes from attempt to attempt, or allow more with --repeat."
        )

    def _series(self) -> Series:
        order = self._wanted.order
        record = SeriesRecord(
            program=program_version(),
            warm_up=tuple(_name(one) for one in self._before),
            recordings=tuple(_name(one) for one in self._counted),
            wanted=self._wanted.attempts,
            stable=self._wanted.stable,
            cool_down_s=self._wanted.cool_down_s,
            stopped=self._stopped,
            command=printable(order.command),
            left_out=tuple(self._left_out),
        )
        return Series(
            record,
            tuple(self._counted),
            tuple(self._before),
            str(self._path),
            record.left_out,
        )

    def _write(self) -> None:
        error = written(self._path, self._series().record)
        why = "" if error is None else error.strerror or str(error)
        self._unwritten = f"{self._path} is not complete ({why})." if why else ""


def _name(found: Recorded) -> str:
    return record_path(Path(found.file)).name
