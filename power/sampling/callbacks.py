"""Handing over what was read, in a thread of its own, so that a slow taker never keeps the sampler from reading."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from typing import Final

_log: Final = logging.getLogger(__name__)


class Delivery:
    """Calls what it was given, one after the other, in the order in which it was given.

    A call that raises is logged and kept in `error` if it is the first; the next ones go on. What waits is kept in
    memory without a bound: ten minutes at ten readings a second are a few megabytes.
    """

    def __init__(self) -> None:
        self.error: Exception | None = None
        self._gave_up = False
        self._ended = False
        self._calls: queue.SimpleQueue[Callable[[], object] | None] = queue.SimpleQueue()
        # A taker that hangs for ever must not keep the program from ending.
        self._thread = threading.Thread(target=self._run, name="delivery", daemon=True)
        self._thread.start()

    def put(self, call: Callable[[], object]) -> None:
        """Have it called soon."""
        self._calls.put(call)

    def drain(self, patience_s: float) -> None:
        """Wait until all that was put has been called.

        After `patience_s` it only warns, and what is left is called when the taker has time again. From a call
        itself it does not wait: what is left is called afterwards.
        """
        # After its end the thread may live on for a moment, and would never get to what is put now.
        if self._thread is threading.current_thread() or self._ended or not self._thread.is_alive():
            return
        drained = threading.Event()
        self._calls.put(drained.set)
        if not drained.wait(0.0 if self._gave_up else patience_s):
            self._gave_up = True
            _log.error("About %d readings wait for whoever records them.", self._calls.qsize())

    def end(self, patience_s: float) -> None:
        """Drain, and end the thread; nothing may be put afterwards. A second call does nothing."""
        self.drain(patience_s)
        self._ended = True
        self._calls.put(None)

    def _run(self) -> None:
        while (call := self._calls.get()) is not None:
            try:
                call()
            except Exception as error:  # noqa: BLE001  the taker's code, whatever it raises
                _log.exception("A reading could not be recorded; sampling goes on.")
                self.error = self.error or error
