"""Bodies are read into rows one after the other: several at once take no less time, but more memory.

Threads that compute also hold the interpreter by turns, 5 ms each: an image would wait for every one of them.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Iterator
from contextlib import contextmanager

LARGE_BODY_BYTES = 2**20


class TakingTurns:
    """One at a time; of those that wait, each run's first, one run after the other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_taken = False
        self._waiting: OrderedDict[int, deque[threading.Event]] = OrderedDict()

    @contextmanager
    def turn(self, run: int) -> Iterator[None]:
        """Wait for a turn and hold it."""
        ticket: threading.Event | None = None
        with self._lock:
            if self._is_taken:
                ticket = threading.Event()
                self._waiting.setdefault(run, deque()).append(ticket)
            self._is_taken = True
        if ticket is not None:
            ticket.wait()
        try:
            yield
        finally:
            self._pass_on()

    def _pass_on(self) -> None:
        with self._lock:
            if not self._waiting:
                self._is_taken = False
                return
            run, tickets = self._waiting.popitem(last=False)
            ticket = tickets.popleft()
            if tickets:
                self._waiting[run] = tickets  # behind the others
        ticket.set()
