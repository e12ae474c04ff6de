"""The server's news for its operator: told, but never waited for."""

from __future__ import annotations

import logging
import os
import pty
import subprocess
import sys
import termios
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from referee.web import server_log
from referee.web.server_log import LOGGING, MOST_WAITING, BackgroundHandler

Until = Callable[[Callable[[], object]], None]


@pytest.fixture
def handler() -> Iterator[BackgroundHandler]:
    made = BackgroundHandler()
    yield made
    made.close()


def tell(
    handler: BackgroundHandler,
    text: str,
    level: int = logging.INFO,
) -> None:
    handler.handle(logging.makeLogRecord({"levelno": level, "msg": text}))


def test_a_terminal_that_is_stopped_holds_nobody_up_and_gets_it_all_when_it_goes_on(
    handler: BackgroundHandler,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, theirs = pty.openpty()
    with (
        os.fdopen(ours, "r") as seen,
        os.fdopen(theirs, "w") as terminal,
        monkeypatch.context() as patch,
    ):
        patch.setattr(sys, "stderr", terminal)
        termios.tcflow(theirs, termios.TCOOFF)  # as Ctrl-S does
        for number in range(MOST_WAITING + 10):
            tell(handler, f"line {number}", logging.WARNING)
        termios.tcflow(theirs, termios.TCOON)
        assert [seen.readline().strip() for _ in range(MOST_WAITING)][
            -1
        ] == f"line {MOST_WAITING - 1}"
        handler._lines.join()  # noqa: SLF001 - waits until the thread has written


def test_lines_come_in_order_and_one_that_cannot_be_made_costs_no_other(
    handler: BackgroundHandler,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    with (tmp_path / "log").open("w") as log, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", log)
        patch.setattr(logging, "raiseExceptions", False)
        tell(handler, "first")
        handler.handle(
            logging.makeLogRecord(
                {
                    "levelno": logging.INFO,
                    "msg": "%d",
                    "args": ("no number",),
                }
            )
        )
        tell(handler, "second")
        handler._lines.join()  # noqa: SLF001 - waits until the thread has written
        assert (tmp_path / "log").read_text() == "first\nsecond\n"
        log.close()
        tell(handler, "lost")
        # As in a service that was started without one.
        patch.setattr(
            sys,
            "stderr",
            None,
        )
        tell(handler, "lost, too")
        handler._lines.join()  # noqa: SLF001 - waits until the thread has written


def test_what_was_said_last_is_written_before_the_process_ends() -> None:
    program = (
        "import logging, logging.config; from referee.web.server_log import LOGGING;"
        "logging.config.dictConfig(LOGGING); logging.getLogger('referee').info('the end')"
    )
    told = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stderr.endswith("INFO referee: the end\n")
    assert (
        LOGGING["handlers"]["stderr"]["class"]
        == f"{server_log.__name__}.BackgroundHandler"
    )


def test_a_warning_that_comes_again_is_written_once_a_minute(
    handler: BackgroundHandler,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    def tell_at(
        second: int,
        text: str,
        level: int = logging.ERROR,
    ) -> None:
        error = (ValueError, ValueError(text), None)
        said = {
            "levelno": level,
            "msg": "failed",
            "exc_info": error,
            "created": second,
        }
        handler.handle(logging.makeLogRecord(said))

    with (tmp_path / "log").open("w") as log, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", log)
        for second in range(0, 130, 2):
            tell_at(second, "the disk is full")
        tell_at(-1000, "the disk is full")  # the clock was set back
        tell_at(130, "another error")
        for second in range(3):
            tell_at(second, "news", logging.INFO)
        handler._lines.join()  # noqa: SLF001 - waits until the thread has written
    written = (tmp_path / "log").read_text()
    told = ("the disk is full", "another error", "news")
    assert [written.count(f"ValueError: {text}") for text in told] == [4, 1, 3]
