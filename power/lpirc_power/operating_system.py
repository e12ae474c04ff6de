"""Calls that only some systems have, and their substitutes on the others: macOS and Windows, if none is named."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path
from typing import Final

FREES_PORTS_LATE: Final = sys.platform != "win32"
"""True if a killed server's port stays taken unless the next server sets SO_REUSEADDR.

Not on Windows, where that option would take the port from a server at work.
"""
KEEPS_PORTS: Final = sys.platform == "linux"
"""True if a bound socket keeps its port from another that listens; elsewhere the second bind is refused."""
HAS_PTYS: Final = sys.platform != "win32"
"""True if `raw_pty` works: Windows has no ptys that a program could open as its serial port."""
TELLS_CPU_TIME: Final = sys.platform != "win32"
"""True if `cpu_time_s` works: on Windows it does not."""
PREFERRED_NICE: Final = -10
"""The priority of a thread that must not wait; a usual one has 0, and the highest is -20."""
CLOCK_UNITS_S: Final = (1.0, 60.0, 3600.0)

if sys.platform == "win32":
    ENDINGS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGBREAK)
    OWN_GROUP: Final = 0x200  # CREATE_NEW_PROCESS_GROUP
    LONGEST_WAIT_S: Final = 0.2
else:
    ENDINGS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    OWN_GROUP: Final = 0
    LONGEST_WAIT_S: Final = 3600.0
"""ENDINGS: what ends a command. On Windows a console that is closed sends SIGBREAK, not SIGHUP.

OWN_GROUP: the `creationflags` that keep a terminal's Ctrl-C from a child; on POSIX `start_new_session` does.
LONGEST_WAIT_S: to wait in one piece; on Windows no signal ends a wait, so it is short there.
"""


def heeded_endings() -> tuple[signal.Signals, ...]:
    """The endings to act on: not a SIGHUP that is ignored, as under nohup. Windows has neither."""
    if sys.platform == "win32":
        return ENDINGS
    is_nohup = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    return tuple(one for one in ENDINGS if not (is_nohup and one is signal.SIGHUP))


def prefer_this_thread() -> bool:
    """Give the calling thread a higher priority than others, where the system and its user's rights allow it.

    Linux alone has priorities of single threads; others than root need the right CAP_SYS_NICE, or a limit `nice`.
    """
    if sys.platform != "linux":
        return False
    try:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), PREFERRED_NICE)
    except OSError:
        return False
    return True


def raw_pty() -> tuple[int, int, str]:
    """Open a pty that passes every byte on: our end, the other end, and the path of that. On Windows RuntimeError."""
    if sys.platform == "win32":
        raise RuntimeError("Windows has no ptys")
    import tty

    ours, theirs = os.openpty()
    tty.setraw(theirs)
    return ours, theirs, os.ttyname(theirs)


def mark_of_process(pid: int) -> str | None:
    """Return a mark that tells process `pid` from a later one of the same number; None if it has ended.

    On Linux its start time. Elsewhere only that it lives: a number that is used again goes unnoticed there, and on
    macOS that a process has ended while its parent has not reaped it.
    """
    if sys.platform == "linux":
        facts = _linux_facts(pid)
        # a zombie has ended, though its parent has not reaped it yet
        return None if facts is None or facts[0] in "ZX" else facts[19]
    return "alive" if _lives(pid) else None


def cpu_time_s(pid: int) -> float:
    """CPU time of process `pid` and of its descendants so far; 0 if there is no such process.

    On macOS `ps` says it, without that of descendants that have ended. On Windows RuntimeError: see `TELLS_CPU_TIME`.
    """
    if sys.platform == "linux":
        found = [facts for one in _linux_family(pid) if (facts := _linux_facts(one))]
        # Fields 13 and 14 are of children that have ended; the others are in the family.
        ticks = sum(int(count) for facts in found for count in facts[11:15])
        return ticks / os.sysconf("SC_CLK_TCK")
    if sys.platform == "darwin":
        return _listed_cpu_time_s(pid)
    raise RuntimeError("the CPU time of a process is not read on Windows")


def _linux_facts(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the third on, the state; None if there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The second field is the program's name in brackets and may hold blanks.
    return text.rpartition(")")[2].split()


def _linux_family(pid: int) -> list[int]:
    """A process and its descendants."""
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
    """The seconds of a time such as 1:02.50 or 1-00:00:02."""
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
