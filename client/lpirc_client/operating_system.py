"""Functions that only some systems have: process supervision, and limits under which models run."""

from __future__ import annotations

import os
import signal
import sys

from lpirc_client.errors import ModelError

FREES_PORTS_LATE = sys.platform != "win32"
"""True if a killed server's port stays taken unless the next server sets SO_REUSEADDR.

Not on Windows, where that option would take the port from a server at work.
"""
PR_SET_PDEATHSIG = 1

if sys.platform == "win32":
    import _winapi

    def interrupt(thread: int) -> None:
        """Interrupt the main thread `thread` as Ctrl-C would: on Windows every signal does that."""
        signal.raise_signal(signal.SIGINT)

    def lives(pid: int, *, is_parent: bool) -> bool:
        """Return True if process `pid` lives. On Windows a handle shows this, so `is_parent` has no effect."""
        try:
            process = _winapi.OpenProcess(_winapi.SYNCHRONIZE, False, pid)
        except PermissionError:  # of another user
            return True
        except (OSError, OverflowError):
            return False
        try:
            return _winapi.WaitForSingleObject(process, 0) == _winapi.WAIT_TIMEOUT
        finally:
            _winapi.CloseHandle(process)

    def kill_group(leader: int) -> None:
        """Kill the process `leader`; Windows has no groups. Raises ProcessLookupError, PermissionError."""
        os.kill(leader, signal.SIGTERM)

else:

    def kill_group(leader: int) -> None:
        """Kill the process `leader` and its whole group. Raises ProcessLookupError, PermissionError."""
        os.killpg(leader, signal.SIGKILL)

    def interrupt(thread: int) -> None:
        """Interrupt the main thread `thread` as Ctrl-C would."""
        signal.pthread_kill(thread, signal.SIGINT)

    def lives(pid: int, *, is_parent: bool) -> bool:
        """Return True if process `pid` lives; `is_parent`: it is the parent of this process."""
        if is_parent:
            return os.getppid() == pid  # a zombie still answers signal 0
        try:
            os.kill(pid, 0)
        except (ProcessLookupError, OverflowError):
            return False
        except PermissionError:
            return True
        return True


def require_models() -> None:
    """Raise ModelError `bad-system` on Windows: the process of a model needs the limits and signals of POSIX."""
    if sys.platform == "win32":
        raise ModelError(
            "bad-system",
            "models run on Linux and other POSIX systems, not on Windows; use WSL 2",
        )


def die_with(parent: int) -> None:
    """Have this process killed when its parent `parent` ends, even while native code blocks Python.

    Only Linux offers that. Elsewhere this process ends at once if the parent has ended already, or later, when its
    pipes close.
    """
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(
            PR_SET_PDEATHSIG,
            signal.SIGKILL,
            0,
            0,
            0,
        )
    if os.getppid() != parent:  # it ended before the call above
        sys.exit(0)


def allowed_cores() -> set[int]:
    """Return the cores that this process may use; empty where cores cannot be chosen, that is outside Linux."""
    if sys.platform == "linux":
        return os.sched_getaffinity(0)
    return set()


def stay_on(core: int) -> None:
    """Keep this process on one of the `allowed_cores`; do nothing if there are none."""
    if sys.platform == "linux":
        os.sched_setaffinity(0, {core})
