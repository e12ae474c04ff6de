"""Signal handlers that end a wait."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from types import FrameType


def setting(event: threading.Event) -> Callable[[int, FrameType | None], None]:
    """Return a signal handler that sets the event from another thread.

    The interrupted thread may hold the event's lock, so setting the event in that thread would deadlock.
    """

    def handler(_number: int, _frame: FrameType | None) -> None:
        # Not threading.Thread: starting one takes a lock too.
        _thread.start_new_thread(event.set, ())

    return handler
