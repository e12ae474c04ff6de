"""A limit on the time that a plug-in's code takes in a process of its own, whose main thread it keeps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from referee.errors import RefereeError


@contextmanager
def limited(limit_s: float, what: str) -> Iterator[None]:
    """Raise RefereeError `too-slow` in the body once it has taken `limit_s`; `what` begins the sentence.

    Nothing is limited outside the main thread, and where the system has no such alarm.
    """
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not hasattr(signal, "setitimer"):
        yield
        return

    def give_up(_number: int, _frame: FrameType | None) -> NoReturn:
        sentence = f"{what} did not end within {limit_s:g} s"
        raise RefereeError("too-slow", sentence)

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
