"""The server's news for its operator: told, but never waited for."""

from __future__ import annotations

import logging
import os
import pty
import sys
import termios
from pathlib import Path

import pytest

from referee.web.server_log import LOGGING, never_waits

NEWS, WARNING = (logging.makeLogRecord({"levelno": level}) for level in (logging.INFO, logging.WARNING))


def test_a_terminal_that_is_stopped_gets_no_news_until_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb"), os.fdopen(theirs, "w") as terminal, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", terminal)
        assert [never_waits] == LOGGING["handlers"]["stderr"]["filters"]
        assert never_waits(NEWS)
        termios.tcflow(theirs, termios.TCOOFF)  # as Ctrl-S does
        assert not never_waits(NEWS)
        assert never_waits(WARNING)
        termios.tcflow(theirs, termios.TCOON)
        assert never_waits(NEWS)


def test_a_file_takes_all_and_what_is_closed_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "log").open("w") as log, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", log)
        assert never_waits(NEWS)
        log.close()
        assert not never_waits(NEWS)
