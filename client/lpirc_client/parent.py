"""Ends this process when another one ends: a client that a rehearsal started must not outlive it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from lpirc_client.errors import ClientError
from lpirc_client.operating_system import interrupt, lives

POLL_S = 0.3


@contextmanager
def ending_with(pid: int | None) -> Iterator[None]:
    """Interrupt the block, as Ctrl-C would, when process `pid` ends; None: never. Use it in the main thread.

    Raises ClientError `parent-gone` after an interruption.
    """
    if pid is None:
        yield
        return
    if (
        signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ):  # inherited from a shell's `&`
        signal.signal(signal.SIGINT, signal.default_int_handler)
    main = threading.get_ident()
    is_parent = os.getppid() == pid
    gone = threading.Event()
    done = threading.Event()

    def watch() -> None:
        while not done.wait(POLL_S):
            if not lives(pid, is_parent=is_parent):
                gone.set()
                interrupt(main)
                return

    watcher = threading.Thread(target=watch, name="parent-watch", daemon=True)
    watcher.start()
    try:
        yield
    except KeyboardInterrupt as interruption:
        if gone.is_set():
            raise ClientError(
                "parent-gone", f"process {pid} has ended, so this process ends too"
            ) from interruption
        raise
    finally:
        done.set()
        watcher.join()
