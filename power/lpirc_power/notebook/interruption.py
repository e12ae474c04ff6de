"""Ctrl-C while the meter is talked to: it waits, since an interrupted question leaves the link out of step."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType


@contextlib.contextmanager
def uninterrupted() -> Iterator[Callable[[], None]]:
    """Keep Ctrl-C back until the end of a with statement, or until what it yields is called, which then raises.

    Outside the main thread, which alone receives Ctrl-C, and where no program handles it, nothing is changed.
    """
    former = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or not callable(former):
        yield lambda: None
        return
    pending: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        pending.append(number)

    def require_going_on() -> None:
        if pending:
            pending.clear()
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield require_going_on
    finally:
        signal.signal(signal.SIGINT, former)
    if pending:
        former(signal.SIGINT, None)
