"""Child processes of a command, independent of the terminal's signals, and ended however the command ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import PIPE
from typing import IO, Self

import click

from referee.errors import RefereeError

TIMEOUT_S = 10.0
OWN_PREFIX = "referee: "
"""The beginning of a failure that a child, which is this program too, states as a sentence."""
# Reads its command line from stdin, then becomes that program, with one stream for all output and no input: its process
# id is known before its arguments.
HELD = """import os, sys, json
args = json.loads(sys.stdin.readline())
os.dup2(2, 1), os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
try: os.execv(args[0], args)
except OSError as error: sys.exit(f"{args[0]} cannot be executed: {error.strerror}")
"""


class Child:
    """One child process. As a context manager it ends the process: SIGTERM, then SIGKILL after a timeout.

    The process has a session of its own, so Ctrl-C reaches only the parent, which then ends its children in order. The
    first line of its stdout reports that it is ready; its stderr goes to the file `log`.
    """

    def __init__(self, name: str, arguments: Sequence[str], log: Path) -> None:
        self.name = name
        self._log_path = log
        with log.open("a") as kept:
            self._process = subprocess.Popen(  # noqa: S603 - our own programs, and what --client names
                arguments,
                text=True,
                start_new_session=True,
                stdin=PIPE,
                stdout=PIPE,
                stderr=kept,
            )
        self._output: IO[str] = self._process.stdout  # type: ignore[assignment]  # a pipe
        self._input: IO[str] = self._process.stdin  # type: ignore[assignment]  # a pipe

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """The exit code, negative for a signal; None while the process runs."""
        return self._process.poll()

    def kill(self) -> None:
        """Kill the process and all processes in its session."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def write(self, line: str) -> None:
        """Write a line to the stdin of the process."""
        self._input.write(line + "\n")
        self._input.flush()

    def first_line(self) -> str:
        """Return the first line of the output, which the process prints when it is ready.

        If the process ends without a line, raise RefereeError `child-failed` with the last line of its log.
        """
        line = self._output.readline().strip()
        if not line:
            self._process.wait()
            raise self.failure()
        return line

    def end(self) -> None:
        """End the process with SIGTERM, or SIGKILL after a timeout, and kill the rest of its session."""
        if self._process.poll() is None:
            self._process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(TIMEOUT_S)
        self.kill()
        self._output.close()
        with suppress(BrokenPipeError):
            self._input.close()

    def failure(self) -> RefereeError:
        """Return a RefereeError that explains the failure with the last line of the process's log."""
        lines = [
            line
            for line in self._log_path.read_text(errors="replace").splitlines()
            if line.strip()
        ]
        last = (
            lines[-1]
            if lines
            else f"it ended with exit code {self._process.returncode}"
        )
        return RefereeError(
            "child-failed",
            f"The {self.name} failed: {last.removeprefix(OWN_PREFIX)}",
            log=str(self._log_path),
        )


def own_child(folder: Path, name: str, command: str, *arguments: str) -> Child:
    """Start one of our commands, with its log in `folder`; it ends when this process ends.

    Raises RefereeError `program-missing`.
    """
    own = [program(command), *arguments, "--parent", str(os.getpid())]
    return Child(name, own, folder / f"{name}.log")


@contextmanager
def endings_interrupt() -> Iterator[None]:
    """In the block, make SIGTERM and a closed terminal raise KeyboardInterrupt, so that the children are ended.

    Under nohup a closed terminal is still ignored.
    """

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    is_nohup = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    ends = (signal.SIGTERM,) if is_nohup else (signal.SIGTERM, signal.SIGHUP)
    before = [(one, signal.signal(one, interrupt)) for one in ends]
    try:
        yield
    finally:
        for one, handler in before:
            signal.signal(one, handler)


@contextmanager
def interruption_reported(outcome: Callable[[], str]) -> Iterator[None]:
    """Exit with 130 and one line if Ctrl-C, SIGTERM or a closed terminal interrupts the block.

    `outcome` returns the end of that line.
    """
    try:
        with endings_interrupt():
            yield
    except KeyboardInterrupt:
        click.echo(f"referee: interrupted; {outcome()}", err=True)
        sys.exit(130)


def program(name: str) -> str:
    """Return the path of a command of this project, installed beside this interpreter.

    Raises RefereeError `program-missing`.
    """
    path = Path(sys.executable).with_name(name)
    if not path.is_file():
        raise RefereeError(
            "program-missing", f"{path} is missing; install it with: make setup"
        )
    return str(path)
