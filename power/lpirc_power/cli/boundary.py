"""Error boundary of the command line: reports a failure as one sentence on stderr, with exit code 1."""

from __future__ import annotations

import contextlib
import errno
import io
import logging
import os
import signal
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any, TextIO

import click

from lpirc_power.cli.suggestions import suggest_meant
from lpirc_power.cli.surplus_arguments import with_form
from lpirc_power.endings import on_endings
from lpirc_power.errors import MeterError
from lpirc_power.operating_system import ENDINGS


class StatedFailure(click.ClickException):
    """A failure on the command line: one line on stderr and an exit code, by default 1."""

    def __init__(self, sentence: str, exit_code: int = 1) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code  # type: ignore[misc]  # click declares it for the class, and reads it here

    def show(self, file: Any = None) -> None:
        """Print the line on stderr; a closed stderr is ignored."""
        to_stderr(f"meter: {self.message}")


@contextlib.contextmanager
def _failures_stated() -> Iterator[None]:
    try:
        yield
    except click.UsageError as error:
        suggest_meant(error)
        if (told := with_form(error)) is not error:
            raise told from None
        raise
    except MeterError as error:
        raise StatedFailure(error.sentence) from error
    except KeyboardInterrupt as error:
        # The exit code of a shell, 128 + the signal's number.
        ending = signal.Signals(error.args[0]) if error.args else signal.SIGINT
        name = "Ctrl-C" if ending is signal.SIGINT else ending.name
        raise StatedFailure(
            f"Ended by {name}, before there was a result.", 128 + ending
        ) from error
    except BrokenPipeError:
        # The reader of stdout went away (`| head`).
        _abandon(sys.stdout)
        raise click.exceptions.Exit(1) from None
    except OSError as error:
        # Permissions, a full disk, a missing folder: the system's message and the file name are enough.
        _abandon(sys.stdout)
        raise StatedFailure(_sentence(error)) from error


def _sentence(error: OSError) -> str:
    reason = error.strerror or str(error)
    if error.filename:
        return f"{error.filename}: {reason}."
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The output cannot be written: {reason}; free some space, or write it elsewhere."
    return f"{reason}."


class Bounded(click.Command):
    """Click command that reports MeterError, OSError and signals as one sentence. Other exceptions keep a traceback."""

    def make_context(self, *arguments: Any, **given: Any) -> click.Context:
        """Read the options, of which --help and --version print, and turn known failures into a StatedFailure."""
        _print_any_name()
        with _failures_stated():
            return super().make_context(*arguments, **given)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command and turn its known failures into a StatedFailure."""
        with _failures_stated(), on_endings(interrupt):
            return super().invoke(ctx)


class Boundary(Bounded, click.Group):
    """Click group whose commands report failures so."""


def to_stderr(sentence: str) -> None:
    """Print one line on stderr; ignore errors while writing it."""
    try:
        click.echo(" ".join(sentence.split()), err=True)
    except (OSError, ValueError):
        _abandon(sys.stderr)


class _Printed(logging.Handler):
    """Log handler that prints records for the person at the terminal."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print the record's message without its traceback."""
        to_stderr(f"meter: {record.getMessage()}")


@contextlib.contextmanager
def warnings_printed() -> Iterator[None]:
    """Print the package's warnings (lost link, settings not restored) on stderr, one line each."""
    log = logging.getLogger("lpirc_power")
    handler = _Printed(logging.WARNING)
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


def _print_any_name() -> None:
    """Let stdout take each name of a file: the bytes of one that is no text, and "?" for what it cannot show."""
    stdout = sys.stdout
    if isinstance(stdout, io.TextIOWrapper):
        is_utf8 = stdout.encoding.lower() in ("utf-8", "utf8")
        stdout.reconfigure(errors="surrogateescape" if is_utf8 else "replace")


def _abandon(stream: TextIO) -> None:
    # Otherwise the interpreter writes the rest at exit, and fails again.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, stream.fileno())
        os.close(descriptor)


def interrupt(number: int, _frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt with the signal's number, so the command cleans up.

    Later signals are ignored: timeout(1) signals first its child and then the group, and the second signal must not
    interrupt the cleanup.
    """
    for one in ENDINGS:
        if signal.getsignal(one) is interrupt:
            # Not SIG_IGN: Python would print that a pending signal is ignored.
            signal.signal(one, lambda *_: None)
    raise KeyboardInterrupt(number)
