"""Writes a file atomically: even after a power cut, readers find either the new content or the old one."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from lpirc_testsets.operating_system import sync
from lpirc_testsets.presence import is_file, is_there

PART_BYTES = 2**20


def write_atomically(
    path: Path,
    content: bytes | Iterable[bytes],
    mode: int | None = None,
) -> None:
    """Write a file so that readers find either the new content or the old one, even after a power cut.

    On return the content is on disk. Links are kept, and so is the mode of the file unless `mode` is given. `content`
    may come in parts; then only one part is in memory at a time. Raises OSError with the file's name.
    """
    path = real_path(path)
    partial = _sibling(path)
    try:
        partial.touch(
            0o666 if mode is None else mode, exist_ok=False
        )  # before it has content
        with partial.open("wb") as file:
            if mode is None:
                with suppress(FileNotFoundError):
                    shutil.copymode(path, partial)
            file.writelines([content] if isinstance(content, bytes) else content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with suppress(OSError):  # it may not exist; report the first failure
            partial.unlink()


def parts_of(file: Path, size: int | None = None) -> Iterator[bytes]:
    """Yield the content of a file, or its first `size` bytes, in parts for `write_atomically`. Raises OSError."""
    left = file.stat().st_size if size is None else size
    with file.open("rb") as opened:
        while part := opened.read(min(left, PART_BYTES)):
            left -= len(part)
            yield part


def sync_folder(folder: Path) -> None:
    """Wait until the entries of a folder are on disk. Raises OSError."""
    with suppress(PermissionError):  # one that may be written but not read
        sync(folder)


def require_writable(path: Path) -> None:
    """Raise OSError unless a file can be created or replaced at that path.

    Call it before long work, so that the failure comes early.
    """
    path = real_path(path)
    if is_there(path) and not is_file(path):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    trial = _sibling(path)
    try:
        trial.touch(exist_ok=False)
        trial.unlink()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


def real_path(path: Path) -> Path:
    """Return the file that a path refers to, following links. Raises OSError for circular links."""
    # For circular links Path.resolve raises RuntimeError or nothing, depending on the Python version.
    real = Path(os.path.realpath(path))
    if real.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    return real


def _sibling(path: Path) -> Path:
    return path.with_name(f".{secrets.token_hex(8)}.partial")
