"""A limit on the time that a plug-in's code takes in a process of its own, whose main thread it keeps."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

from lpirc_score.tasks import BOXES
from lpirc_score.tasks.offered import task_engine
from referee.errors import RefereeError
from referee.store.records import Run

LIMIT_S = 60.0
"""Seconds that a plug-in may take for the figures of a run so far, or for its part of a report."""


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


@contextmanager
def limited_plugin(run: Run) -> Iterator[None]:
    """Limit the time that the plug-in of a run's task takes, if it is one, so that others need not wait for it.

    Raises RefereeError `too-slow`, and as `task_engine`.
    """
    engine = None if run.task == BOXES else task_engine(run.task)
    if engine is None:
        yield
        return
    with limited(LIMIT_S, f"The plug-in {engine}, which scores {run.task},"):
        yield
