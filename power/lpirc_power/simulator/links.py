"""Links of the VXI-11 server: buffers for incomplete messages and unread answers."""

from __future__ import annotations

import queue
import threading
from collections import deque
from typing import Final

from lpirc_power.simulator.instrument import Instrument, may_wait

INPUT_BUFFER: Final = 16384
"""Longest message: twice the size of a write; the real limit is unknown."""
MOST_MESSAGES: Final = 256
"""Maximum number of messages of a link that wait to be run; further ones are refused."""

IO_TIMEOUT: Final = 15
ABORTED: Final = 23
OUT_OF_RESOURCES: Final = 9

REQUEST_COUNT: Final = 1
TERMINATOR: Final = 2
END: Final = 4
LOCKED: Final = 11
NOT_HELD: Final = 12


class Link:
    """Buffers of a client. Each link has its own answers, so two clients never read each other's."""

    def __init__(self, number: int, desk: Desk) -> None:
        self.number = number
        self._pending = 0
        self._desk = desk
        self._incoming = b""
        self._answer = b""
        self._aborted = False
        self._cleared = 0
        self._changed = threading.Condition()

    def write(self, data: bytes, end: bool) -> int:
        """Add a chunk and queue complete messages, which end at NL or with END; return the error code."""
        if len(self._incoming) + len(data) > INPUT_BUFFER:
            self._incoming = b""
            return OUT_OF_RESOURCES
        if self._pending >= MOST_MESSAGES:
            return IO_TIMEOUT
        self._incoming += data
        *complete, rest = self._incoming.split(b"\n")
        if end:
            complete = [*complete, rest]
            rest = b""
        self._incoming = rest
        for message in complete:
            if message.strip():
                with self._changed:
                    self._pending += 1
                    generation = self._cleared
                self._desk.put(self, message.rstrip(b"\r"), generation)
        return 0

    def read(
        self, size: int, timeout_s: float, terminator: int | None
    ) -> tuple[int, int, bytes]:
        """Return error, reasons and a chunk of the answer, waiting at most `timeout_s` for an answer."""
        with self._changed:
            self._aborted = False
            if not self._changed.wait_for(
                lambda: self._answer or self._aborted, timeout_s
            ):
                if not self._pending:
                    self._desk.instrument.query_error(420)
                return IO_TIMEOUT, 0, b""
            if self._aborted:
                return ABORTED, 0, b""
            chunk = self._answer[:size]
            reason = 0
            if terminator is not None and (at := chunk.find(bytes([terminator]))) >= 0:
                chunk = chunk[: at + 1]
                reason = TERMINATOR
            self._answer = self._answer[len(chunk) :]
            if len(chunk) == size:
                reason |= REQUEST_COUNT
            return 0, reason | (0 if self._answer else END), chunk

    def waiting(self) -> bool:
        """Return True if an answer waits to be read."""
        with self._changed:
            return bool(self._answer)

    def take_unread(self, generation: int) -> tuple[bool, bool]:
        """Discard an unread answer. Return whether there was one, and whether the new message must still run."""
        with self._changed:
            dropped = bool(self._answer)
            self._answer = b""
            return dropped, generation == self._cleared

    def answer(self, data: bytes | None, generation: int) -> None:
        """Finish a message: make its answer readable, unless the link was cleared since the message arrived."""
        with self._changed:
            if generation != self._cleared:
                return
            self._pending -= 1
            if data is not None:
                self._answer = data
                self._changed.notify_all()

    def abort(self) -> None:
        """Make a waiting read return at once."""
        with self._changed:
            self._aborted = True
            self._changed.notify_all()

    def clear(self) -> None:
        """Discard all messages and answers, and unblock a message that waits for an event."""
        with self._changed:
            self._incoming = self._answer = b""
            self._pending = 0
            self._cleared += 1
        self._desk.instrument.interrupt()


class Desk:
    """Runs messages one after another, whichever link they came from.

    A write is acknowledged before its message runs. The thread that received the message then runs it, which is
    fastest. A message that may wait for an event is left to the desk's own thread, so its link can still be read,
    cleared and aborted.
    """

    def __init__(self, instrument: Instrument) -> None:
        self.instrument = instrument
        self._messages: deque[tuple[Link, str, int]] = deque()
        self._lock = threading.Lock()
        self._calls: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._thread = threading.Thread(
            target=self._wait_for_calls, name="instrument", daemon=True
        )
        self._thread.start()

    def put(self, link: Link, message: bytes, generation: int) -> None:
        """Queue a complete message; `work` runs it."""
        self._messages.append((link, message.decode("latin-1"), generation))

    def work(self, waiting: bool = False) -> None:
        """Run the queued messages, unless another thread does so already; only a `waiting` call may block."""
        # Checked again after each release: a message may have been queued just before it.
        while self._messages:
            if not self._lock.acquire(blocking=waiting):
                return
            try:
                while self._messages and (
                    waiting or not self._may_wait(self._messages[0][1])
                ):
                    self._run(*self._messages.popleft())
            finally:
                self._lock.release()
            if not waiting and self._messages:
                self._calls.put(True)
                return

    def close(self) -> None:
        """Run the queued messages and end the thread."""
        self._calls.put(False)
        self.instrument.close()
        self._thread.join()

    def _may_wait(self, message: str) -> bool:
        return self.instrument.faults.slow_s > 0 or may_wait(message)

    def _wait_for_calls(self) -> None:
        while self._calls.get():
            self.work(waiting=True)

    def _run(self, link: Link, message: str, generation: int) -> None:
        dropped, wanted = link.take_unread(generation)
        if dropped:
            self.instrument.query_error(410)
        answer = self.instrument.execute(message) if wanted else None
        said = None
        if answer is not None:
            said = (
                self.instrument.faults.spoil(answer).encode("latin-1", "replace")
                + b"\n"
            )
        link.answer(said, generation)


class DeviceLock:
    """The device lock and the link that holds it; every method returns a VXI-11 error code, 0 for none."""

    def __init__(self) -> None:
        self._owner: int | None = None
        self._changed = threading.Condition()

    def acquire(self, link: int, wait_s: float) -> int:
        """Acquire the lock; a link that already holds it is refused like any other."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._owner is None, wait_s):
                return LOCKED
            self._owner = link
            return 0

    def passes(self, link: int, wait_s: float) -> int:
        """Return 0 if a link may use the device, after waiting at most `wait_s` for another link's lock."""
        with self._changed:
            free = self._changed.wait_for(lambda: self._owner in (None, link), wait_s)
            return 0 if free else LOCKED

    def release(self, link: int) -> int:
        """Release the lock."""
        with self._changed:
            if self._owner != link:
                return NOT_HELD
            self._owner = None
            self._changed.notify_all()
            return 0
