"""The server's processes end with the one that started them, also when that one is killed."""

from __future__ import annotations

import os
import signal
import threading

from referee.clock import Clock

LOOK_S = 0.5
STOP_TIMEOUT_S = 3
"""For answers under way; a client that stalls in mid-request is then cut off."""


def end_with(parent: int, signalled: int | None = None) -> None:
    """Watch `parent`, a process id, in a thread; when it is gone send SIGTERM to `signalled`, then SIGKILL.

    Without `signalled` it is this process that ends.
    """
    target = os.getpid() if signalled is None else signalled
    threading.Thread(target=_watch, args=(parent, target), name=f"watch-{parent}", daemon=True).start()


def exists(process: int) -> bool:
    """Whether there is a process of that id."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _watch(parent: int, target: int) -> None:
    clock, never = Clock(), threading.Event()
    # A parent that was killed may stay as a zombie; its children get another parent at once.
    while os.getppid() == parent if target == os.getpid() else exists(parent):
        clock.wait(never, clock.monotonic_s() + LOOK_S)
    os.kill(target, signal.SIGTERM)
    if target == os.getpid():
        clock.wait(never, clock.monotonic_s() + STOP_TIMEOUT_S)
        os.kill(target, signal.SIGKILL)
