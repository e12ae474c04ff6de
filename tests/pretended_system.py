"""Pretends, in processes of their own, that they run on Windows or macOS.

What that system lacks is gone, what it refuses is refused, and what only it has is made of what is here. What others
wrote is imported before, as on this system: only the project's own modules see the other one. Processes that they start
pretend the same.
"""

from __future__ import annotations

import builtins
import errno
import importlib
import io
import multiprocessing
import os
import platform
import select
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import types
import weakref
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any

from tests import pretended_windows
from tests.timeouts import TIMEOUT_S

VARIABLE = "PRETENDED_SYSTEM"
PRETENDED = Path(__file__).with_name("pretended")
OTHERS = (
    *(
        "asyncio",
        "click",
        "concurrent.futures",
        "ctypes",
        "getpass",
        "http.server",
        "importlib.metadata",
    ),
    *(
        "multiprocessing.util",
        "numpy.random",
        "PIL.Image",
        "PIL.JpegImagePlugin",
        "pyvisa",
        "pyvisa_py.tcpip",
    ),
    *(
        "requests",
        "rich.progress",
        "runpy",
        "socketserver",
        "sqlite3",
        "tempfile",
        "urllib.request",
        "usb.core",
    ),
)
MISSING_MODULES = {
    "win32": ("fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"),
    "darwin": (),
}
LINUX_ONLY: dict[types.ModuleType, tuple[str, ...]] = {
    os: (
        *(
            "memfd_create",
            "posix_fadvise",
            "posix_fallocate",
            "sched_getaffinity",
            "sched_setaffinity",
        ),
        *("setresuid", "splice"),
    ),
    select: ("epoll",),
    socket: ("SO_PEERCRED", "TCP_KEEPIDLE", "TCP_USER_TIMEOUT"),
    time: ("CLOCK_BOOTTIME",),
}
POSIX_ONLY: dict[types.ModuleType, tuple[str, ...]] = {
    os: (
        *(
            "O_CLOEXEC",
            "O_DIRECTORY",
            "O_NOFOLLOW",
            "O_NONBLOCK",
            "chown",
            "fork",
            "forkpty",
            "geteuid",
            "getpgid",
        ),
        *(
            "getuid",
            "killpg",
            "mkfifo",
            "nice",
            "openpty",
            "pread",
            "readv",
            "set_blocking",
            "setpriority",
            "setsid",
        ),
        *("statvfs", "sysconf", "ttyname", "uname"),
    ),
    select: ("poll",),
    signal: (
        *(
            "SIGALRM",
            "SIGCHLD",
            "SIGHUP",
            "SIGKILL",
            "SIGQUIT",
            "SIGUSR1",
            "SIGUSR2",
            "SIGXCPU",
            "alarm",
            "pause",
        ),
        *("pthread_kill", "pthread_sigmask", "setitimer", "sigwait"),
    ),
    socket: (
        "AF_UNIX",
        "MSG_DONTWAIT",
        "MSG_WAITALL",
        "SO_REUSEPORT",
        "TCP_KEEPCNT",
        "TCP_KEEPINTVL",
    ),
}
LINUX_FOLDERS = ("/proc/", "/sys/")


def environment(system: str) -> dict[str, str]:
    """The environment in which each Python is on that system: `win32` or `darwin`."""
    # One ending, since `os.pathsep` between several stays that of this system.
    endings = {"PATHEXT": ".EXE"} if system == "win32" else {}
    return os.environ | endings | {VARIABLE: system, "PYTHONPATH": str(PRETENDED)}


def command(name: str, *arguments: object) -> list[str]:
    """The command line of one of the project's commands, or of a `python` with the code given."""
    return [str(Path(sys.executable).with_name(name)), *map(str, arguments)]


def run(
    system: str,
    folder: Path,
    name: str,
    *arguments: object,
) -> subprocess.CompletedProcess[str]:
    """Run a command on that system, in a folder, to its end."""
    return subprocess.run(
        command(name, *arguments),
        cwd=folder,
        env=environment(system),
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )


def run_code(
    system: str,
    folder: Path,
    code: str,
    *arguments: object,
) -> str:
    """Run Python code on that system, in a folder, and return what it prints; it must not fail."""
    done = run(system, folder, "python", "-c", code, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def imported(system: str, folder: Path, package: str) -> list[str]:
    """The modules of a package that are imported when each of them is, but those that run models or a cluster."""
    done = run(system, folder, "python", str(PRETENDED / "imports.py"), package)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


class Missing(MetaPathFinder):
    """Finds no module of these names, wherever it may be."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names

    def find_spec(self, name: str, *_: object) -> None:
        if name in self._names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def pretend(system: str) -> None:
    """Make this process see another system from now on."""
    platform.uname(), sysconfig.get_config_vars()  # kept from now on
    for name in OTHERS:
        importlib.import_module(name)
    sys.meta_path.insert(0, Missing(MISSING_MODULES[system]))
    for name in MISSING_MODULES[system]:
        sys.modules.pop(name, None)
    without_linux_folders()
    with_one_bind_for_a_port()
    lacking = [LINUX_ONLY, POSIX_ONLY] if system == "win32" else [LINUX_ONLY]
    if system == "win32":
        pretended_windows.pretend()
    else:
        socket.TCP_KEEPALIVE = socket.TCP_KEEPIDLE  # type: ignore[attr-defined]  # its name there
    for part in lacking:
        for module, names in part.items():
            for name in names:
                module.__dict__.pop(name, None)
    sys.platform = system
    multiprocessing.set_start_method("spawn", force=True)


def without_linux_folders() -> None:
    """Let nothing be in /proc and /sys."""

    def guarded(real: Any) -> Any:
        def act(
            path: Any = ".",
            *arguments: Any,
            **options: Any,
        ) -> Any:
            if isinstance(path, (str, os.PathLike)) and str(path).startswith(
                LINUX_FOLDERS
            ):
                raise FileNotFoundError(
                    errno.ENOENT,
                    os.strerror(errno.ENOENT),
                    str(path),
                )
            return real(path, *arguments, **options)

        return act

    for module, names in (
        (os, ("listdir", "open", "scandir", "stat")),
        (io, ("open",)),
    ):
        for name in names:
            setattr(module, name, guarded(getattr(module, name)))
    builtins.open = io.open


def with_one_bind_for_a_port() -> None:
    """Refuse the second socket of a port, as every system but Linux does though both set SO_REUSEADDR."""
    real = socket.socket.bind
    bound = weakref.WeakSet[socket.socket]()

    def bind(own: socket.socket, address: Any) -> None:
        taken = [
            one.getsockname()[:2]
            for one in list(bound)
            if one.fileno() >= 0 and one is not own
        ]
        if isinstance(address, tuple) and address[1] and address[:2] in taken:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        real(own, address)
        bound.add(own)

    socket.socket.bind = bind  # type: ignore[method-assign, assignment]
