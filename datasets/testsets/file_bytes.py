"""The bytes of a file that somebody names."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def file_bytes(path: Path) -> bytes:
    """All of a file, or of a pipe into which somebody writes.

    Raises OSError with the file's name, also for a pipe that would be waited for because nobody writes into it, and for
    a device.
    """
    try:
        return _all_of(path)
    except OSError as error:  # one of an open file knows no name
        raise OSError(error.errno, error.strerror, str(path)) from error


def _all_of(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        mode = os.fstat(descriptor).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISDIR(mode)):
            raise OSError(errno.EINVAL, "it is no regular file")
        first = _beginning(descriptor) if stat.S_ISFIFO(mode) else b""
        os.set_blocking(descriptor, True)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return first + file.read()
    finally:
        os.close(descriptor)


def require_regular(path: Path) -> None:
    """Raise OSError for a pipe or a device: what is read more than once must give the same again."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, "it is no regular file", str(path))


def _beginning(pipe: int) -> bytes:
    try:
        first = os.read(pipe, 1)
    except BlockingIOError:  # a writer has not written yet
        return b""
    if not first:
        raise OSError(errno.EINVAL, "it is no regular file but a pipe into which nobody writes")
    return first
