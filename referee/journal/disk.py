"""Runs work on the journal's disk in a separate thread, and stops waiting for it after a deadline.

A mount that no longer answers blocks the thread that uses it inside the kernel, where it cannot be ended. With a
separate thread, only that thread hangs; other callers are refused at once until the disk answers again.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from referee.clock import Clock
from referee.errors import JournalStalled

T = TypeVar("T")


class _Task:
    """Work for the disk's thread, with its result or its error once it has ended."""

    def __init__(
        self, work: Callable[[], Any], now_s: float, at_end: Callable[[], None]
    ) -> None:
        self.work = work
        self.at_end = at_end
        self.begun_s = now_s
        self.has_moved = self.is_given_up = False
        self.is_over = (
            threading.Lock()
        )  # released by the disk's thread; an Event would take several times as long
        self.is_over.acquire()
        self.result: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Run the work and store its result or error."""
        try:
            self.result = self.work()
        except BaseException as error:  # noqa: BLE001 - who waits raises it
            self.error = error
        self.at_end()
        self.is_over.release()


class JournalDisk:
    """The disk that holds a folder, with the thread that works on it.

    It runs one task at a time; callers exclude each other by a lock of their own.

    Work that writes also holds `lock`, a file on this host's own disk, until it ends. Abandoned work may still write
    later, and until then no other process of this host may write.
    """

    def __init__(
        self,
        folder: Path,
        deadline_s: float,
        clock: Clock | None = None,
        lock: Path | None = None,
    ) -> None:
        self._folder = folder
        self._lock_path = lock
        self._lock = -1
        self._deadline_s = deadline_s
        self._clock = clock or Clock()
        self._tasks: SimpleQueue[_Task] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._hung: _Task | None = None
        self._doing: _Task | None = None  # of the thread
        self._moves = threading.Lock()

    def do(self, work: Callable[[], T]) -> T:
        """Run work on the disk and return its result.

        Raises the error of the work, or JournalStalled if the disk hangs. Abandoned work may still take effect later:
        the caller must check for that once the disk answers again.
        """
        if self.stalled_s is not None:
            raise self._stalled()
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._work, name="journal-disk", daemon=True
            )
            self._thread.start()
        self._acquire()
        task = _Task(work, self._clock.monotonic_s(), self._release)
        self._tasks.put(task)
        while not task.is_over.acquire(timeout=self._deadline_s):
            if self._gives_up(task):
                raise self._stalled()
        if task.error is not None:
            raise task.error
        result: T = task.result
        return result

    def move(self) -> None:
        """Restart the deadline; long work calls this between its steps.

        Raises JournalStalled if the work was abandoned: its caller no longer waits for it.
        """
        task = self._doing
        with self._moves:
            if task is None or task.is_given_up:
                raise self._stalled()
            task.has_moved = True

    def _gives_up(self, task: _Task) -> bool:
        """Abandon a task at its deadline and return True, unless it has called `move` since the previous deadline."""
        with self._moves:
            task.is_given_up = not task.has_moved
            task.has_moved = False
        if task.is_given_up:
            self._hung = task
        return task.is_given_up

    @property
    def stalled_s(self) -> float | None:
        """Return for how many seconds the disk has not answered, or None if it answers."""
        hung = self._hung
        if hung is None:
            return None
        if hung.is_over.acquire(blocking=False):
            self._hung = None
            return None
        return self._clock.monotonic_s() - hung.begun_s

    def _acquire(self) -> None:
        if self._lock_path is None:
            return
        if self._lock < 0:
            self._lock = os.open(self._lock_path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise self._stalled() from None  # another process of this host still waits for the disk

    def _release(self) -> None:
        if self._lock >= 0:
            fcntl.flock(self._lock, fcntl.LOCK_UN)

    def _work(self) -> None:
        while True:
            self._doing = self._tasks.get()
            self._doing.run()

    def _stalled(self) -> JournalStalled:
        seconds = self.stalled_s or self._deadline_s
        return JournalStalled(
            f"The journal's disk at {self._folder} has not answered for {seconds:.1f} s, so the request was not "
            "accepted. Send the request again, a POST with the same Idempotency-Key. For the operator: check the "
            "mount of that disk, and the host that serves the disk.",
            stalled_s=round(seconds, 1),
        )
