"""Functions that depend on Linux, with substitutes on macOS, where teams rehearse. Windows is refused at the start."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import re
import resource
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from stat import S_ISSOCK

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
MACHINE_ID = Path("/etc/machine-id")
LOCKS = Path("/proc/locks")
MEMORY = Path("/proc/meminfo")
ROUTES = Path("/proc/net/fib_trie")
ELSEWHERE = ("192.0.2.1", 9)  # of TEST-NET-1: no packet is sent there
MOST_FILES_OF_MACOS = 10_240  # OPEN_MAX: macOS refuses more, though it reports no limit
_SENT_AT = 44
_RECEIVED_MS_AT = 52
_RECEIVED_AT = 128  # in struct tcp_info of linux/tcp.h


def boot_id() -> str | None:
    """Return the id of this boot, or None if the system does not state it. On macOS it comes from `sysctl`."""
    if sys.platform == "darwin":
        asked = ["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]
        with suppress(OSError):
            said = subprocess.run(asked, capture_output=True, text=True, check=False)  # noqa: S603 - the system's
            return said.stdout.strip() or None
        return None
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return None


def sync_content(descriptor: int) -> None:
    """Wait until a file's content is on disk, omitting its timestamps if the system can do so. Raises OSError."""
    if sys.platform == "linux":
        os.fdatasync(descriptor)
    else:
        os.fsync(descriptor)


def machine_name() -> str:
    """Return this machine's name with a few digits of its identity, as names may recur: hall-a (5f0c2a91)."""
    try:
        identity = MACHINE_ID.read_bytes()
    except OSError:  # macOS has none
        identity = b""
    name = socket.gethostname()
    return f"{name} ({hashlib.sha256(identity).hexdigest()[:8]})" if identity else name


def fork_workers() -> None:
    """Make multiprocessing fork on Linux: since Python 3.14 processes do not fork by default and re-import everything.

    On macOS forking is not safe, so processes are spawned there.
    """
    if sys.platform == "linux":
        multiprocessing.set_start_method("fork", force=True)


def own_addresses() -> list[str]:
    """Return this machine's IPv4 addresses in its networks; on macOS only the one that it sends from, if any."""
    if sys.platform == "linux":
        found = _linux_addresses()
    else:
        found = _sending_address()
    return [
        str(one)
        for one in sorted(map(ip_address, found))
        if not (one.is_loopback or one.is_link_local)
    ]


def own_sockets() -> Iterator[socket.socket]:
    """Yield a duplicate of each socket that this process has open, and close it when the next one is requested."""
    folder = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"
    for name in os.listdir(folder):  # noqa: PTH208 - names suffice
        with suppress(OSError):
            descriptor = int(name)
            # A copy of the database's descriptor must not even be made: closing it would release its locks (POSIX).
            if S_ISSOCK(os.fstat(descriptor).st_mode):
                with socket.socket(fileno=os.dup(descriptor)) as copy:
                    yield copy


def share_port(holder: socket.socket) -> bool:
    """Allow later sockets of this user with SO_REUSEPORT to bind the port to which `holder` is bound.

    Return False if that is not known to work: only Linux is known to allow it once the port is bound.
    """
    if sys.platform != "linux":
        return False
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    return True


def probe(
    listener: socket.socket, silence_s: int, probe_s: int, probes: int, unread_s: int
) -> None:
    """Make the kernel probe silent connections to `listener`, and end those that are dead or do not read.

    macOS has no time limit for a connection that does not read (`unread_s`), so there it stays open.
    """
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, probe_s)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, probes)
    if sys.platform == "linux":
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, silence_s)
        listener.setsockopt(
            socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, unread_s * 1000
        )
    elif sys.platform == "darwin":
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPALIVE, silence_s)


@dataclass(frozen=True)
class Traffic:
    """The kernel's figures of a TCP connection: time since data last went out and came in, and bytes received."""

    since_sent_s: float
    since_received_s: float
    received_bytes: int


def traffic(connection: socket.socket) -> Traffic | None:
    """Return the kernel's figures of a TCP connection; None if the system does not provide them (macOS)."""
    if sys.platform != "linux":
        return None
    known = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _RECEIVED_AT + 8)
    (sent_ms_ago,) = struct.unpack_from("=I", known, _SENT_AT)
    (received_ms_ago,) = struct.unpack_from("=I", known, _RECEIVED_MS_AT)
    (received_bytes,) = struct.unpack_from("=Q", known, _RECEIVED_AT)
    return Traffic(sent_ms_ago / 1000, received_ms_ago / 1000, received_bytes)


def allow_files(wanted: int) -> int:
    """Raise this process's limit of open files as far as allowed, at most to `wanted`, and return the new limit.

    macOS reports that there is no limit, and may refuse more than 10,240.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
    for allowed in (limit, min(limit, MOST_FILES_OF_MACOS)):
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft == resource.RLIM_INFINITY or soft >= allowed:
            return allowed
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
            return allowed
    return soft


def lock_holder(path: Path) -> int | None:
    """Return the process that has locked this file or folder; None if the system does not say, as on macOS."""
    inode = str(path.stat().st_ino)
    try:
        lines = LOCKS.read_text().splitlines()
    except OSError:
        return None
    for _, kind, _, _, process, place, *_ in map(str.split, lines):
        if kind == "FLOCK" and place.rpartition(":")[2] == inode:
            return int(process)
    return None


def free_memory_bytes() -> int | None:
    """Return the memory that is free now; None if the system does not say, as on macOS."""
    try:
        lines = MEMORY.read_text().splitlines()
        free_kib = next(
            int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")
        )
    except (OSError, StopIteration, ValueError):
        return None
    return free_kib * 1024


def lower_priority(niceness: int) -> None:
    """Lower the priority of this thread, unless it is lower already, for example under `nice`.

    Does nothing on macOS, where a thread has no priority of its own.
    """
    if sys.platform == "linux":
        thread = threading.get_native_id()
        # Only root may raise a priority.
        if os.getpriority(os.PRIO_PROCESS, thread) < niceness:
            os.setpriority(os.PRIO_PROCESS, thread, niceness)


def _linux_addresses() -> list[str]:
    try:
        routes = ROUTES.read_text()
    except OSError:
        return []
    return list(set(re.findall(r"-- (\S+)\n +/32 host LOCAL", routes)))


def _sending_address() -> list[str]:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(ELSEWHERE)
        except OSError:
            return []
        return [asking.getsockname()[0]]
