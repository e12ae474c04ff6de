"""System calls that only some operating systems have, with substitutes for the others, macOS and Windows."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

FREES_PORTS_LATE: Final = sys.platform != "win32"
"""True if a killed server's port stays taken unless the next server sets SO_REUSEADDR.

False on Windows, where that option would take the port from a running server.
"""
KEEPS_PORTS: Final = sys.platform == "linux"
"""True if a bound socket keeps others from listening on its port; elsewhere the second bind is refused."""
HAS_PTYS: Final = sys.platform != "win32"
"""True if `raw_pty` works: Windows has no ptys that a program can open as a serial port."""
HAS_UNIX_SOCKETS: Final = hasattr(socket, "AF_UNIX")
"""True if a socket can have a path and its permissions; Python on Windows has none."""
TELLS_CPU_TIME: Final = sys.platform != "win32"
"""True if `cpu_time_s` works, as it does everywhere but on Windows."""
PREFERRED_NICE: Final = -10
"""Nice value of a thread that must not wait; the usual value is 0, the highest priority -20."""
PR_SET_PDEATHSIG: Final = 1
CLOCK_UNITS_S: Final = (1.0, 60.0, 3600.0)

if sys.platform == "win32":
    ENDINGS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGBREAK)
    OWN_GROUP: Final = 0x200  # CREATE_NEW_PROCESS_GROUP
    LONGEST_WAIT_S: Final = 0.2
else:
    ENDINGS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    OWN_GROUP: Final = 0
    LONGEST_WAIT_S: Final = 3600.0
"""ENDINGS: signals that end a command; on Windows, closing the console sends SIGBREAK, not SIGHUP.

OWN_GROUP: the `creationflags` that keep a terminal's Ctrl-C from a child process; POSIX uses `start_new_session`.
LONGEST_WAIT_S: longest single wait; it is short on Windows, where no signal ends a wait.
"""


def heeded_endings() -> tuple[signal.Signals, ...]:
    """Return the ENDINGS to handle: all but a SIGHUP that is ignored (nohup). Windows has no SIGHUP."""
    if sys.platform == "win32":
        return ENDINGS
    is_nohup = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    return tuple(one for one in ENDINGS if not (is_nohup and one is signal.SIGHUP))


def prefer_this_thread() -> bool:
    """Raise the calling thread's priority, if the system and the user's rights allow it; return True if it worked.

    Only Linux has a priority per thread. Users other than root need CAP_SYS_NICE or a `nice` limit.
    """
    if sys.platform != "linux":
        return False
    try:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), PREFERRED_NICE)
    except OSError:
        return False
    return True


def ending_with_this() -> Callable[[], None] | None:
    """Return what a child process must call before its program begins, to be sent SIGTERM when this process ends.

    It ends then also if this process is killed by SIGKILL. Only the child itself is told, not what it starts. None
    where the system has no such thing: only Linux has. The calling thread must start the child, and live on.
    """
    if sys.platform != "linux":
        return None
    import ctypes  # before the child: it must not import anything

    prctl = ctypes.PyDLL(None).prctl
    parent = os.getpid()

    def tell() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # it has ended already
            os.kill(os.getpid(), signal.SIGTERM)

    return tell


def raw_pty() -> tuple[int, int, str]:
    """Open a pty that passes every byte unchanged: return our end, the other end, and the other end's path.

    Raises RuntimeError on Windows.
    """
    if sys.platform == "win32":
        raise RuntimeError("Windows has no ptys")
    import tty

    ours, theirs = os.openpty()
    tty.setraw(theirs)
    return ours, theirs, os.ttyname(theirs)


def mark_of_process(pid: int) -> str | None:
    """Return a mark that distinguishes process `pid` from a later one with the same number; None if it has ended.

    On Linux the mark is the start time. Elsewhere it only shows that the process exists: a reused number goes unnoticed
    there, and so does, on macOS, a process that has ended but is not yet reaped by its parent.
    """
    if sys.platform == "linux":
        facts = _linux_facts(pid)
        # a zombie has ended, though its parent has not reaped it yet
        return None if facts is None or facts[0] in "ZX" else facts[19]
    return "alive" if _lives(pid) else None


def cpu_time_s(pid: int) -> float:
    """Return the CPU time so far of process `pid` and its descendants; 0 if there is no such process.

    On macOS it comes from `ps`, without descendants that have ended. Raises RuntimeError on Windows: see
    `TELLS_CPU_TIME`.
    """
    if sys.platform == "linux":
        found = [facts for one in _linux_family(pid) if (facts := _linux_facts(one))]
        # Fields 13 and 14 cover children that have ended; living children are in the family.
        ticks = sum(int(count) for facts in found for count in facts[11:15])
        return ticks / os.sysconf("SC_CLK_TCK")
    if sys.platform == "darwin":
        return _listed_cpu_time_s(pid)
    raise RuntimeError("the CPU time of a process is not read on Windows")


def _linux_facts(pid: int) -> list[str] | None:
    """Return the fields of /proc/PID/stat from the third (the state) on; None if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The second field is the program's name in brackets and may hold blanks.
    return text.rpartition(")")[2].split()


def _linux_family(pid: int) -> list[int]:
    """Return a process and its descendants."""
    try:
        listed = [
            one.read_text() for one in Path(f"/proc/{pid}/task").glob("*/children")
        ]
    except OSError:  # it has ended meanwhile
        listed = []
    children = [int(child) for line in listed for child in line.split()]
    return [pid, *(one for child in children for one in _linux_family(child))]


def _listed_cpu_time_s(pid: int) -> float:
    import subprocess  # where nothing else needs it the simulator starts faster

    command = ["/bin/ps", "-A", "-o", "pid=,ppid=,time="]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - the system's own
    times_s: dict[int, float] = {}
    children: dict[int, list[int]] = {}
    for line in listed.stdout.splitlines():
        own, parent, used = line.split()
        times_s[int(own)] = _seconds(used)
        children.setdefault(int(parent), []).append(int(own))
    family = [pid]
    for one in family:  # it grows meanwhile
        family += children.get(one, [])
    return sum(times_s.get(one, 0.0) for one in family)


def _seconds(used: str) -> float:
    """Return the seconds in a time such as 1:02.50 or 1-00:00:02."""
    days, _, clock = used.rpartition("-")
    parts = reversed(clock.split(":"))
    of_clock_s = sum(
        float(part) * unit_s for part, unit_s in zip(parts, CLOCK_UNITS_S, strict=False)
    )
    return int(days or 0) * 86400 + of_clock_s


if sys.platform == "win32":
    import _winapi

    def _lives(pid: int) -> bool:
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

else:

    def _lives(pid: int) -> bool:
        try:
            os.kill(pid, 0)
        except (ProcessLookupError, OverflowError):
            return False
        except PermissionError:
            return True
        return True


if sys.platform == "win32":

    def unix_socket() -> socket.socket:
        """Return a new socket that can have a path. Raises OSError where there is none: see `HAS_UNIX_SOCKETS`."""
        raise OSError("this system has no sockets with a path")

    def is_of_this_user(_found: os.stat_result) -> bool:
        """Return True if a file belongs to the user of this process; never on Windows, which has no such numbers."""
        return False

else:

    def unix_socket() -> socket.socket:
        """Return a new socket that can have a path. Raises OSError where there is none: see `HAS_UNIX_SOCKETS`."""
        return socket.socket(socket.AF_UNIX)

    def is_of_this_user(found: os.stat_result) -> bool:
        """Return True if a file belongs to the user of this process; never on Windows, which has no such numbers."""
        return found.st_uid == os.getuid()


if sys.platform == "win32":

    def locked_by_another(_descriptor: int) -> bool:
        """Return True if another program has locked a file in this way; otherwise lock it until it is closed."""
        return False

else:

    def locked_by_another(descriptor: int) -> bool:
        """Return True if another program has locked a file in this way; otherwise lock it until it is closed."""
        import fcntl

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:  # a file system without locks
            return False
        return False


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can; a power failure then keeps them."""
    if sys.platform == "win32":
        return
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:  # a file system without it
        return
    finally:
        os.close(descriptor)
