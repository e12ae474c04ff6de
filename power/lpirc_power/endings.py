"""Signals that end a command or a wait."""

from __future__ import annotations

import _thread
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from lpirc_power.operating_system import heeded_endings


def setting(event: threading.Event) -> Callable[[int, FrameType | None], None]:
    """Return a signal handler that sets the event from another thread.

    The interrupted thread may hold the event's lock, so setting the event in that thread would deadlock.
    """

    def handler(_number: int, _frame: FrameType | None) -> None:
        # Not threading.Thread: starting one takes a lock too.
        _thread.start_new_thread(event.set, ())

    return handler


@contextlib.contextmanager
def on_endings(act: Callable[[int, FrameType | None], Any]) -> Iterator[None]:
    """Call `act` on the signals that end a command; use in the main thread. An ignored SIGHUP (nohup) stays ignored.

    An ignored SIGINT is handled, though: a shell ignores SIGINT for a job that a script starts with `&`, and such a
    script then ends a recording with `kill -INT`.
    """
    former = {number: signal.signal(number, act) for number in heeded_endings()}
    try:
        yield
    finally:
        for number, before in former.items():
            signal.signal(number, before)
