"""The processes of a rehearsal: started apart from the terminal, ended whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from referee.errors import RefereeError

PATIENCE_S = 10.0
# Waits for its arguments on stdin, then becomes the program: its process id is known before its arguments are.
HELD = "import os, sys, json; args = json.loads(sys.stdin.readline()); os.execv(args[0], args)"


class Child:
    """One process; used as a context manager it is gone at the end: asked first, then killed.

    It gets a session of its own, so that Ctrl-C reaches only the rehearsal, which then ends its children in order.
    What it tells us, on stdout or stderr, is read by `lines`; the other stream goes to the file `log`.
    """

    def __init__(
        self, name: str, arguments: Sequence[str], log: Path, tells_on: Literal["stdout", "stderr"] = "stdout"
    ) -> None:
        self.name = name
        self._log_path = log
        self._log = log.open("w")
        self._process = subprocess.Popen(  # noqa: S603 - our own programs
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if tells_on == "stdout" else self._log,
            stderr=subprocess.PIPE if tells_on == "stderr" else self._log,
            text=True,
            start_new_session=True,
        )
        told = self._process.stdout or self._process.stderr
        assert told is not None  # noqa: S101 - one of them is a pipe
        assert self._process.stdin is not None  # noqa: S101 - it is a pipe
        self._told, self._stdin = told, self._process.stdin

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def tell(self, line: str) -> None:
        """Write a line to its stdin."""
        self._stdin.write(line + "\n")
        self._stdin.flush()

    def first_line(self) -> str:
        """The first line of its output, which it prints when it is ready.

        Raises RefereeError `child-failed` with the child's last words when it ends without one.
        """
        line = self._told.readline().strip()
        if not line:
            self._process.wait()
            raise self.failure()
        return line

    def lines(self) -> Iterator[str]:
        """The lines it tells until it ends."""
        yield from self._told

    def keep(self, line: str) -> None:
        """Put a line it told into its log, as its last words so far."""
        self._log.write(line)
        self._log.flush()

    def wait(self) -> None:
        """Wait until it ends. Raises RefereeError `child-failed` unless it did so well."""
        if self._process.wait() != 0:
            raise self.failure()

    def failure(self) -> RefereeError:
        """What to say when it failed: its last words."""
        words = [line for line in self._log_path.read_text(errors="replace").splitlines() if line.strip()]
        last = words[-1] if words else f"it ended with exit code {self._process.returncode}"
        return RefereeError("child-failed", f"The {self.name} failed: {last}", log=str(self._log_path))

    def end(self) -> None:
        """End it, if it has not ended: SIGTERM, and SIGKILL for its whole session after some patience."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        self._told.close()
        self._log.close()
        with suppress(BrokenPipeError):
            self._stdin.close()


@contextmanager
def endings_interrupt() -> Iterator[None]:
    """Make SIGTERM and a closed terminal unwind like Ctrl-C, so that they too end the children; not under nohup."""

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


def program(name: str) -> str:
    """The path of one of the project's commands, installed beside this interpreter.

    Raises RefereeError `program-missing`.
    """
    path = Path(sys.executable).with_name(name)
    if not path.is_file():
        raise RefereeError("program-missing", f"{path} is missing; install it with: make setup")
    return str(path)
