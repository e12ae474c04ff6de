"""Duration of a measurement: a given time, the run of a program, or until Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import IO, Final

from lpirc_power.endings import on_endings, setting
from lpirc_power.errors import NamedMeterError
from lpirc_power.operating_system import LONGEST_WAIT_S, ending_with_this

ENDING_TIMEOUT_S: Final = 5.0
"""Time a program may take to end after Ctrl-C, and again after SIGTERM."""


class ProgramMissing(NamedMeterError):
    """The program to measure cannot be run."""

    CODE = "program-missing"


class Course:
    """The period of a measurement. It owns the program that the measurement waits for, and its exit code.

    `exit_code` is the program's exit code, or 128 + N if signal N killed it, as in a shell; 0 without a program.
    """

    def __init__(
        self,
        duration_s: float | None,
        command: Sequence[str],
        monotonic: Callable[[], float],
        output: IO[bytes] | None = None,
    ) -> None:
        """Raise MeterError `program-missing` if there is no such program. Give a duration or a command, not both.

        The program's output goes to the file `output`, or to this program's stdout if that is None.
        """
        if command and shutil.which(command[0]) is None:
            raise ProgramMissing(_no_program(command[0]))
        self.duration_s = duration_s
        self.exit_code = 0
        self.environment: dict[str, str] = {}
        """What is added to the program's environment."""
        self._command = tuple(command)
        self._output = output
        self._ending_with_this = ending_with_this() if command else None
        self._monotonic = monotonic
        self._interrupted: int | None = None
        self._is_over = False
        self._ended = threading.Event()
        self._deadline_s = threading.TIMEOUT_MAX

    def interruptible(self) -> contextlib.AbstractContextManager[None]:
        """Make Ctrl-C, SIGTERM and SIGHUP end only the waiting, not a question to the meter.

        An interrupted question would leave the link out of step: the energy could not be read any more, nor the
        settings be restored.
        """
        return on_endings(self._interrupt)

    def require_going_on(self) -> None:
        """Raise KeyboardInterrupt with the signal's number if a signal ended the waiting."""
        if self._interrupted is not None:
            raise KeyboardInterrupt(self._interrupted)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """Start the time or the program for a with statement, and end the program when the statement ends."""
        if self.duration_s is not None:
            self._deadline_s = self._monotonic() + self.duration_s
        if not self._command:
            yield
            return
        with self._program() as program:
            # The end of the program is noticed at once, since any time after it is measured too.
            watcher = threading.Thread(target=self._watch, args=(program,), daemon=True)
            watcher.start()
            try:
                yield
            finally:
                # At a terminal the program has received the Ctrl-C too, and may need a while to end.
                _end(
                    program,
                    watcher,
                    timeout_s=0.0 if self._interrupted is None else ENDING_TIMEOUT_S,
                )
        self.exit_code = (
            128 - program.returncode if program.returncode < 0 else program.returncode
        )

    def wait(self, longest_s: float | None = None) -> bool:
        """Wait for the end of the time or of the program, or for Ctrl-C. Return False if `longest_s` passes first."""
        until_s = self._deadline_s
        if longest_s is not None:
            until_s = min(until_s, self._monotonic() + longest_s)
        while (left_s := until_s - self._monotonic()) > 0:
            if self._ended.wait(min(left_s, LONGEST_WAIT_S)):
                break
        is_at_end = self._ended.is_set() or self._monotonic() >= self._deadline_s
        # A signal that came first has ended the waiting, and not the time or the program.
        self._is_over = self._is_over or (is_at_end and not self.is_interrupted)
        return is_at_end

    @property
    def is_interrupted(self) -> bool:
        """True if a signal ended the waiting."""
        return self._interrupted is not None

    @property
    def is_cut_short(self) -> bool:
        """True if a signal ended the waiting for a time or for a program; without either, Ctrl-C is the end.

        A signal that comes later, while the meter is stopped, has cut nothing short.
        """
        has_end = self.duration_s is not None or bool(self._command)
        return has_end and self.is_interrupted and not self._is_over

    @contextlib.contextmanager
    def _program(self) -> Iterator[subprocess.Popen[bytes]]:
        environment = os.environ | self.environment
        try:
            program = subprocess.Popen(  # noqa: S603  the user's own command, without a shell
                self._command,
                stdout=self._output,
                env=environment,
                preexec_fn=self._ending_with_this,  # a single system call
            )
        except OSError as error:
            raise ProgramMissing(
                f"The program {self._command[0]!r} cannot be run: {error.strerror}."
            ) from error
        with program:
            yield program

    def _watch(self, program: subprocess.Popen[bytes]) -> None:
        program.wait()
        self._ended.set()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self._interrupted = number
        setting(self._ended)(number, frame)


def _end(
    program: subprocess.Popen[bytes], watcher: threading.Thread, *, timeout_s: float
) -> None:
    watcher.join(timeout_s)
    for act in (program.terminate, program.kill):
        if not watcher.is_alive():
            return
        act()
        watcher.join(ENDING_TIMEOUT_S)


def _no_program(name: str) -> str:
    """Return the sentence for a COMMAND that is not there."""
    if len(name.split()) > 1:
        return (
            f"There is no program {name!r}; give its arguments apart from its name, and a line for a shell as "
            f"sh -c {shlex.quote(name)}."
        )
    also = " It is not the address of a meter, either." if ":" in name else ""
    return f"There is no program {name!r} that can be run.{also}"
