"""One recording of one meter, for as long as its course lasts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from lpirc_power.clocks import Clocks
from lpirc_power.marks.mark_list import MarkList
from lpirc_power.marks.marking import ENVIRONMENT
from lpirc_power.marks.marks_listener import listening
from lpirc_power.recording_run.course import Course
from lpirc_power.recording_run.left_behind import warn_of_those_left
from lpirc_power.recording_run.recorder import Order, Recorder
from lpirc_power.report.recording_report import Recorded

INTERIM_S: Final = 10.0
INTERIM_OF_MARK_S: Final = 0.01
"""Pause between two writings of the marks so far, and how much longer it is for each mark: writing costs 20 us each."""


def recorded(
    order: Order, course: Course, clocks: Clocks
) -> tuple[Recorded, str | None]:
    """Record, and return the recording with a sentence about its problem, or None if there is none.

    Raises MeterError if there is no energy at all, KeyboardInterrupt if a signal ended it before the start.
    """
    recorder = Recorder(order, clocks)
    marks = MarkList()
    order.watcher.on_marks(marks)
    with course.interruptible():
        try:
            with marked(order, course, marks, clocks):
                recorder.arm(course.require_going_on)
                with recorder.files():
                    _run(recorder, course, marks)
        finally:
            recorder.close()
    found = recorder.recorded(marks)
    return found, problem_of(found, recorder)


@contextlib.contextmanager
def marked(
    order: Order, course: Course, marks: MarkList, clocks: Clocks
) -> Iterator[None]:
    """Take the marks of the course's program, or of any program where a path is given, during a with statement.

    At its end, warn of what the program started and left running.
    """
    if not (order.command or order.marks_path):
        yield
        return
    with listening(marks, clocks.monotonic, order.marks_path) as listener:
        if listener is not None:
            course.environment[ENVIRONMENT] = listener.address
        yield
        if listener is not None and order.command:
            warn_of_those_left(ENVIRONMENT, listener.address)


def _run(recorder: Recorder, course: Course, marks: MarkList) -> None:
    recorder.start()
    try:
        with course.running():
            recorder.note_start()
            keep_marks(course.wait, marks, [recorder])
    finally:
        recorder.note_outcome(course.exit_code, interrupted=course.is_cut_short)
        recorder.stop()


def keep_marks(
    ended: Callable[[float], bool], marks: MarkList, recorders: Iterable[Recorder]
) -> None:
    """Write new marks to the records now and then until the end, the more there are the less often.

    `ended` waits for the end, at most for the seconds given, and returns True once it has come.
    """
    written = 0
    while not ended(max(INTERIM_S, INTERIM_OF_MARK_S * written)):
        if len(marks) == written:
            continue
        found = marks.marks
        written = len(found)
        for one in recorders:
            one.note_marks(found)


def problem_of(found: Recorded, recorder: Recorder) -> str | None:
    """Return what a person must know of a recording that is not as it should be; None if all is well."""
    sentences = []
    if found.no_energy:
        sentences.append(found.no_energy)
    elif found.failed:
        codes = ", ".join(found.failed)
        sentences.append(
            f"The energy needs review: {codes}. Record again, or report this together with the energy."
        )
    if recorder.logbook.damage:
        sentences.append(recorder.logbook.damage)
    error = recorder.logbook.error
    if error is not None:
        sentences.append(
            f"{found.file} is incomplete: it holds {found.rows} of {len(found.readings)} readings "
            f"({error.strerror or error})."
        )
    error = recorder.kept.error
    if error is not None:
        sentences.append(
            f"{recorder.kept.path} is not complete ({error.strerror or error}): it lacks the energy and the limits."
        )
    return " ".join(sentences) or None
