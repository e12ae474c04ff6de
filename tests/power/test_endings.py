"""A signal that ends a wait, wherever in the wait it comes."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from lpirc_power.endings import setting

LONGEST_S = 20.0


def ends(
    event: threading.Event,
    handler: Callable[[int, FrameType | None], None],
    line: int,
) -> bool:
    """Whether a wait ends for which the signal comes before that line of it; one that hangs is left behind."""
    left = line

    def trace(
        _frame: FrameType,
        what: str,
        _argument: Any,
    ) -> Any:
        nonlocal left
        if what == "line":
            left -= 1
            if left == 0:
                sys.settrace(None)
                handler(signal.SIGINT, None)
        return trace

    def wait() -> None:
        sys.settrace(trace)
        event.wait()

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    thread.join(LONGEST_S)
    return not thread.is_alive()


@pytest.mark.parametrize("line", range(1, 8))
def test_a_signal_ends_a_wait_wherever_it_comes(line: int) -> None:
    event = threading.Event()
    assert ends(event, setting(event), line)
