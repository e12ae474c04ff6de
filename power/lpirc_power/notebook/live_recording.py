"""A recording that lasts as long as a with statement."""

from __future__ import annotations

import contextlib
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from types import TracebackType
from typing import Self

from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterError
from lpirc_power.marks.mark_list import MarkList, Wrong
from lpirc_power.marks.marking import ENVIRONMENT, own_sender
from lpirc_power.marks.marks_listener import listening
from lpirc_power.meter import Identity
from lpirc_power.notebook.doubtful_energy import DoubtfulEnergy
from lpirc_power.notebook.interruption import uninterrupted
from lpirc_power.notebook.python_words import in_python_words
from lpirc_power.notebook.recording import Recording
from lpirc_power.recording_run.recorder import Order, Recorder
from lpirc_power.recording_run.single_run import keep_marks, problem_of
from lpirc_power.report.recording_report import Recorded


class LiveRecording(Recording):
    """A recording in the making: it begins and ends with its with statement, and then has its figures.

    If the statement's body raises, what was measured until then is kept, and the exception goes on.
    """

    def __init__(
        self,
        order: Order,
        clocks: Clocks,
        claimed: Callable[[str], contextlib.AbstractContextManager[None]],
        require_meter: Callable[[Identity], None],
    ) -> None:
        """Check nothing yet; `claimed` gives the meter to a single user at a time."""
        self._recorded = None
        self._problem = None
        self._order = order
        self._clocks = clocks
        self._claimed = claimed
        self._require_meter = require_meter
        self._marks = MarkList()
        self._running: contextlib.ExitStack | None = None
        self._recorder: Recorder | None = None
        self._is_entered = False
        self._is_begun = False  # the body of the with statement was reached

    @property
    def recorded(self) -> Recorded:
        """The recording, once it has ended; MeterError `recording-unfinished` before."""
        if self._recorded is not None:
            return self._recorded
        name = self._order.output
        if self._is_entered and self._running is None:
            sentence = (
                f"The recording {name} has no energy, since it ended with an error."
            )
        else:
            sentence = f"The recording {name} has no energy before its with statement has ended."
        raise MeterError("recording-unfinished", sentence)

    @property
    def path(self) -> Path:
        """The CSV file of the readings, which grows during the recording."""
        return self._order.output

    @contextlib.contextmanager
    def mark(self, name: str) -> Iterator[None]:
        """Mark the duration of a with statement. May be called from any thread, and marks may nest and overlap.

        Raises MeterError `recording-unfinished` while nothing is being recorded, `mark-name` for an empty name.
        """
        if self._running is None:
            raise MeterError(
                "recording-unfinished",
                f"Nothing is being recorded to {self._order.output}: a mark stands inside of its with statement.",
            )
        stretch = self._marks.stretch(name, self._clocks.monotonic)
        try:
            stretch.__enter__()
        except Wrong:
            raise MeterError(
                "mark-name", f"A mark needs a name of a few words, not {name!r}."
            ) from None
        try:
            yield
        finally:
            stretch.__exit__(None, None, None)

    def __enter__(self) -> Self:
        if self._is_entered:
            raise MeterError(
                "recording-unfinished",
                f"The recording {self._order.output} has been made already; ask the meter for another one.",
            )
        with in_python_words(), contextlib.ExitStack() as stack:
            stack.enter_context(self._claimed(str(self._order.output)))
            self._is_entered = True
            stack.enter_context(self._open_to_marks())
            # Ctrl-C during the start unwinds the stack, which stops the meter again.
            with uninterrupted() as require_going_on:
                self._begin(stack, require_going_on)
            self._running = stack.pop_all()
            self._is_begun = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            with in_python_words(), uninterrupted():
                self._end(interrupted=error is not None)
        except MeterError as failure:
            if error is None:
                raise
            error.add_note(f"The recording failed, too: {failure.sentence}")
        if self._problem and error is not None:
            error.add_note(self._problem)
        elif self._problem:
            warnings.warn(DoubtfulEnergy(self._problem), stacklevel=2)

    @contextlib.contextmanager
    def _open_to_marks(self) -> Iterator[None]:
        """Take the marks of `lpirc_power.mark` here and in programs that the work starts, unless a recording does."""
        if ENVIRONMENT in os.environ:
            yield
            return
        with listening(self._marks, self._clocks.monotonic) as listener:
            if listener is None:
                yield
                return
            os.environ[ENVIRONMENT] = listener.address
            own_sender.lead_to(listener.address)
            try:
                yield
            finally:
                os.environ.pop(ENVIRONMENT, None)
                own_sender.lead_to(None)

    def _begin(
        self, stack: contextlib.ExitStack, require_going_on: Callable[[], None]
    ) -> None:
        recorder = Recorder(self._order, self._clocks)
        stack.callback(recorder.close)
        self._require_meter(recorder.arm(require_going_on))
        stack.enter_context(recorder.files())
        stack.callback(self._discard_unless_begun, recorder)
        recorder.start()
        stack.callback(recorder.stop)
        recorder.note_start()
        stack.enter_context(self._marks_kept(recorder))
        self._recorder = recorder

    @contextlib.contextmanager
    def _marks_kept(self, recorder: Recorder) -> Iterator[None]:
        """Write the marks so far to the record from time to time: a kernel may be killed."""
        ended = threading.Event()
        thread = threading.Thread(
            target=keep_marks,
            args=(ended.wait, self._marks, [recorder]),
            name="kept marks",
            daemon=True,
        )
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _discard_unless_begun(self, recorder: Recorder) -> None:
        # After a Ctrl-C in the last moment of the start, nothing was measured that anybody wants.
        if not self._is_begun:
            recorder.logbook.discard()

    def _end(self, *, interrupted: bool) -> None:
        running = self._running
        recorder = self._recorder
        if running is None or recorder is None:
            return
        self._running = None
        recorder.note_outcome(0, interrupted=interrupted)
        running.close()  # stops the meter, closes the files, restores the settings, gives the meter back
        found = recorder.recorded(self._marks)
        self._problem = problem_of(found, recorder)
        self._recorded = found

    def __repr__(self) -> str:
        if self._recorded is None:
            return f"<recording {self._order.output}, not finished>"
        return super().__repr__()

    def _repr_html_(self) -> str:
        return escape(repr(self)) if self._recorded is None else super()._repr_html_()

    def __str__(self) -> str:
        return repr(self) if self._recorded is None else super().__str__()
