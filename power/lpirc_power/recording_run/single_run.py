"""One recording of one meter, for as long as its course lasts."""

from __future__ import annotations

from lpirc_power.clocks import Clocks
from lpirc_power.recording_run.course import Course
from lpirc_power.recording_run.recorder import Order, Recorder
from lpirc_power.report.recording_report import Recorded


def recorded(
    order: Order, course: Course, clocks: Clocks
) -> tuple[Recorded, str | None]:
    """Record, and return the recording with a sentence about its problem, or None if there is none.

    Raises MeterError if there is no energy at all, KeyboardInterrupt if a signal ended it before the start.
    """
    recorder = Recorder(order, clocks)
    with course.interruptible():
        try:
            recorder.arm(course.require_going_on)
            with recorder.files():
                _run(recorder, course)
        finally:
            recorder.close()
    found = recorder.recorded(exit_code=course.exit_code)
    return found, problem_of(found, recorder)


def _run(recorder: Recorder, course: Course) -> None:
    recorder.start()
    try:
        with course.running():
            recorder.note_start()
            course.wait()
    finally:
        recorder.stop()


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
