"""What needs attention is logged when it is new, not each time that the watch looks."""

from __future__ import annotations

import logging
from typing import Any, cast

import pytest

from referee.judging.attention_items import Severity
from referee.web.attention_watch import AttentionWatch
from referee.web.live_status import LiveStatus
from referee.web.plugged_pages import PluggedPages
from tests.referee.factories import StillClock

DISK = {
    "id": "disk",
    "code": "disk",
    "severity": Severity.WARNING,
    "sentence": "240 MB are free.",
}


class Status:
    """The findings that the test sets."""

    def __init__(self) -> None:
        self.attention: list[dict[str, Any]] = []
        self.plugged: tuple[dict[str, object], ...] = ()

    def look(self) -> Status:
        return self


def test_a_finding_is_logged_once_and_again_when_it_comes_back(
    caplog: pytest.LogCaptureFixture,
) -> None:
    status = Status()
    watch = AttentionWatch(cast(LiveStatus, status), PluggedPages(), StillClock())
    with caplog.at_level(logging.INFO):
        for found in ([DISK], [DISK], [DISK], [], [DISK], [DISK]):
            status.attention = found
            watch.look()
    said = [one.getMessage() for one in caplog.records]
    assert said == ["needs attention: 240 MB are free."] * 2
