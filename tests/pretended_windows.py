"""What Windows refuses, and its own modules made of what is here: see `pretended_system`."""

from __future__ import annotations

import builtins
import errno
import fcntl
import io
import os
import select
import shutil
import signal
import stat
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

LOCK_NOW = fcntl.LOCK_EX | fcntl.LOCK_NB
READS_FLAGS = fcntl.F_GETFL
STILL_RUNS = 258
NEW_GROUP = 0x200
REAL: dict[str, Any] = {
    "fcntl": fcntl.fcntl,
    "flock": fcntl.flock,
    "fsync": os.fsync,
    "kill": os.kill,
    "open": os.open,
    "popen": subprocess.Popen.__init__,
    "replace": os.replace,
    "select": select.select,
    "text": io.open,
}


def pretend() -> None:
    """Make this process see Windows, but for what it lacks."""
    sys.modules.update(msvcrt=msvcrt(), _winapi=winapi())
    os.kill = no_kill
    os.open = open_file
    os.fsync = sync_writable
    os.replace = replace_file
    os.rename = rename_to_new
    io.open = builtins.open = open_text  # type: ignore[assignment]
    shutil._use_fd_functions = False  # type: ignore[attr-defined]  # noqa: SLF001
    select.select = select_sockets
    subprocess.Popen.__init__ = start  # type: ignore[method-assign]
    subprocess.Popen.terminate = subprocess.Popen.kill = terminate  # type: ignore[method-assign]
    os.O_BINARY = 0  # type: ignore[attr-defined]
    signal.SIGBREAK = signal.SIGUSR2  # type: ignore[attr-defined]


def msvcrt() -> types.ModuleType:
    """The module `msvcrt`, as far as it is used."""
    made = types.ModuleType("msvcrt")

    def locking(descriptor: int, _mode: int, _count: int) -> None:
        try:
            REAL["flock"](descriptor, LOCK_NOW)
        except BlockingIOError:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from None

    vars(made).update(LK_NBLCK=2, locking=locking)
    return made


def winapi() -> types.ModuleType:
    """The module `_winapi`, as far as it is used: a handle is the number of its process."""
    made = types.ModuleType("_winapi")

    def open_process(_access: int, _inherits: bool, pid: int) -> int:
        try:
            REAL["kill"](pid, 0)
        except ProcessLookupError:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL)) from None
        return pid

    vars(made).update(
        SYNCHRONIZE=0x100000,
        WAIT_TIMEOUT=STILL_RUNS,
        OpenProcess=open_process,
    )
    vars(made).update(
        WaitForSingleObject=lambda *_: STILL_RUNS,
        CloseHandle=lambda _: None,
    )
    return made


def no_kill(*_: int) -> None:
    """Whatever the signal, it ends the process there, or sends a Ctrl-C: no program that runs there may ask for it."""
    raise AssertionError("os.kill is none on Windows")


def open_file(
    path: Any,
    flags: int,
    *more: Any,
    **options: Any,
) -> int:
    """Open no folder."""
    if Path(path).is_dir():
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    descriptor: int = REAL["open"](path, flags, *more, **options)
    return descriptor


def sync_writable(descriptor: int) -> None:
    """Sync nothing that is only read."""
    if REAL["fcntl"](descriptor, READS_FLAGS) & os.O_ACCMODE == os.O_RDONLY:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    REAL["fsync"](descriptor)


def replace_file(source: Any, target: Any) -> None:
    """Replace no folder, not even an empty one."""
    if Path(target).is_dir():
        raise PermissionError(
            errno.EACCES,
            os.strerror(errno.EACCES),
            str(source),
            None,
            str(target),
        )
    REAL["replace"](source, target)


def rename_to_new(source: Any, target: Any) -> None:
    """Replace nothing."""
    if Path(target).exists():
        raise FileExistsError(
            errno.EEXIST,
            os.strerror(errno.EEXIST),
            str(source),
            None,
            str(target),
        )
    REAL["replace"](source, target)


def open_text(
    file: Any,
    mode: str = "r",
    buffering: int = -1,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    **options: Any,
) -> Any:
    """Read and write text in a Western code page, and each line feed as two characters, unless told otherwise."""
    if "b" not in mode and encoding in (None, "locale"):
        encoding = "cp1252"
    if "b" not in mode and newline is None and not mode.startswith("r"):
        newline = "\r\n"
    return REAL["text"](file, mode, buffering, encoding, errors, newline, **options)


def select_sockets(*lists: Any) -> Any:
    """Select among sockets only."""
    for one in [each for some in lists[:3] for each in some]:
        number = one if isinstance(one, int) else one.fileno()
        if not stat.S_ISSOCK(os.fstat(number).st_mode):
            raise OSError(errno.ENOTSOCK, os.strerror(errno.ENOTSOCK))
    return REAL["select"](*lists)


def start(
    own: Any,
    *arguments: Any,
    creationflags: int = 0,
    **options: Any,
) -> None:
    """Start a process; a session of its own it gets only by the flag that keeps a Ctrl-C away there."""
    is_apart = options.pop("start_new_session", False)
    assert not is_apart or creationflags == NEW_GROUP
    REAL["popen"](own, *arguments, start_new_session=is_apart, **options)


def terminate(own: Any) -> None:
    """End it at once, as each way to end a process does there."""
    REAL["kill"](own.pid, 9)
