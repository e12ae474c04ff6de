"""Writing a file whole, or not at all."""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that whoever reads it, also after a crash, finds all of it or what was there before.

    Raises OSError with the file's name.
    """
    path = path.resolve()  # a link stays one
    partial = path.with_name(f".{secrets.token_hex(8)}.partial")
    try:
        with partial.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        partial.unlink(missing_ok=True)


def require_place(path: Path) -> None:
    """Raise OSError unless a file can be made at that place, or replaced there: better now than after the work."""
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no regular file", str(path))
    trial = path.with_name(f".{secrets.token_hex(8)}.partial")
    try:
        trial.touch(exist_ok=False)
        trial.unlink()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
