"""End with another process: a client started by a rehearsal must not outlive it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from lpirc_client.errors import ClientError

POLL_S = 0.3


@contextmanager
def ending_with(parent: int | None) -> Iterator[None]:
    """What is done here ends when the process `parent` does; None: whatever becomes of others.

    Raises ClientError `bad-parent`, and `parent-gone` when it did.
    """
    if parent is None:
        yield
        return
    watch = ParentWatch(parent)
    watch.start()
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if watch.gone:
            raise ClientError("parent-gone", f"process {parent} is gone, so this one ends too") from interrupt
        raise
    finally:
        watch.stop()


class ParentWatch:
    """Interrupts the main thread, as Ctrl-C would, when process `pid` is gone; `gone` then tells why."""

    def __init__(self, pid: int) -> None:
        if os.name != "posix":
            # On Windows os.kill(pid, 0) would end the process instead of asking after it.
            raise ClientError("bad-parent", "--parent works on POSIX systems only")
        self.pid = pid
        self.gone = False
        self._is_own = os.getppid() == pid
        self._stopped = threading.Event()
        self._main = threading.get_ident()
        self._thread = threading.Thread(target=self._watch, name="parent-watch", daemon=True)

    def start(self) -> None:
        """Start to watch; to be called from the main thread."""
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # inherited from a shell's `&`
            signal.signal(signal.SIGINT, signal.default_int_handler)
        self._thread.start()

    def stop(self) -> None:
        """Stop watching."""
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopped.wait(POLL_S):
            if not self._lives():
                self.gone = True
                signal.pthread_kill(self._main, signal.SIGINT)
                return

    def _lives(self) -> bool:
        if self._is_own:
            return os.getppid() == self.pid  # a dead parent that nobody waited for still answers signal 0
        try:
            os.kill(self.pid, 0)
        except (ProcessLookupError, OverflowError):
            return False
        except PermissionError:
            return True
        return True
