"""Writing a file whole, or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that whoever reads it, also after a crash, finds all of it or what was there before.

    A file that was there lends its mode. Raises OSError with the file's name.
    """
    path = real_path(path)  # a link stays one
    partial = _sibling(path)
    try:
        with partial.open("xb") as file:
            with suppress(FileNotFoundError):
                shutil.copymode(path, partial)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with suppress(OSError):  # also where it was never made: the first failure is the one to tell
            partial.unlink()


def require_place(path: Path) -> None:
    """Raise OSError unless a file can be made at that place, or replaced there: better now than after the work."""
    path = real_path(path)
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    trial = _sibling(path)
    try:
        trial.touch(exist_ok=False)
        trial.unlink()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def real_path(path: Path) -> Path:
    """The file that a path leads to, through links. Raises OSError for links that lead back to themselves."""
    real = Path(os.path.realpath(path))  # Path.resolve raises RuntimeError, or nothing, by Python's version
    if real.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return real


def _sibling(path: Path) -> Path:
    return path.with_name(f".{secrets.token_hex(8)}.partial")
