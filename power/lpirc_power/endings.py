"""Signals that end a wait."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from types import FrameType


def setting(event: threading.Event) -> Callable[[int, FrameType | None], None]:
    """Return a signal handler that sets the event.

    Another thread sets it: the thread that the signal interrupts may hold the event's lock, and would wait for itself.
    """

    def handler(_number: int, _frame: FrameType | None) -> None:
        # Not threading.Thread: starting one takes a lock too.
        _thread.start_new_thread(event.set, ())

    return handler
