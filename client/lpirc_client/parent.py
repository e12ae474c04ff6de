"""Ends this process when another one ends: a client that a rehearsal started must not outlive it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from lpirc_client.errors import ClientError

POLL_S = 0.3
PR_SET_PDEATHSIG = 1


@contextmanager
def ending_with(pid: int | None) -> Iterator[None]:
    """Interrupt the block, as Ctrl-C would, when process `pid` ends; None: never. Use it in the main thread.

    Raises ClientError `bad-parent`, and `parent-gone` after an interruption.
    """
    if pid is None:
        yield
        return
    if os.name != "posix":  # on Windows os.kill(pid, 0) ends the process
        raise ClientError("bad-parent", "--parent works on POSIX systems only")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # inherited from a shell's `&`
        signal.signal(signal.SIGINT, signal.default_int_handler)
    main, is_own = threading.get_ident(), os.getppid() == pid
    gone, done = threading.Event(), threading.Event()

    def watch() -> None:
        while not done.wait(POLL_S):
            if not _lives(pid, is_own=is_own):
                gone.set()
                signal.pthread_kill(main, signal.SIGINT)
                return

    watcher = threading.Thread(target=watch, name="parent-watch", daemon=True)
    watcher.start()
    try:
        yield
    except KeyboardInterrupt as interrupt:
        if gone.is_set():
            raise ClientError("parent-gone", f"process {pid} is gone, so this one ends too") from interrupt
        raise
    finally:
        done.set()
        watcher.join()


def die_with(parent: int) -> None:
    """Let Linux kill this process when the parent process `parent` ends, even while native code blocks Python."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before the call above
        sys.exit(0)


def _lives(pid: int, *, is_own: bool) -> bool:
    if is_own:
        return os.getppid() == pid  # a zombie still answers signal 0
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True
