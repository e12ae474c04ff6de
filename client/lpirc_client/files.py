"""Reads files named by the user, only regular ones, and writes results atomically."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from lpirc_client.errors import ClientError
from lpirc_client.presence import is_file, is_there, status

FIRST_BYTES = 16


def read_regular(path: Path, most_bytes: int = -1) -> bytes:
    """Return the file's first `most_bytes`, or all of it. Raises OSError, also for a pipe or a device."""
    if is_there(path) and not is_file(
        path
    ):  # reading would block on a pipe and may never end on a device
        raise OSError(errno.EINVAL, "it is not a regular file")
    with path.open("rb") as file:
        return file.read(most_bytes)


def require_writable(out: Path) -> None:
    """Raise OSError unless `write_atomically` can write there; changes nothing."""
    is_device = _is_device(out)
    with suppress(FileNotFoundError):
        os.close(os.open(out, os.O_WRONLY))
    if not is_device:
        trial = _sibling(out)
        trial.touch(exist_ok=False)
        trial.unlink()


def write_atomically(out: Path, text: str) -> None:
    """Write the text and a line feed; the old content stays until all of the new one is on disk. Raises OSError."""
    if _is_device(out):
        out.write_text(text + "\n", encoding="utf-8")
        return
    partial = _sibling(out)
    try:
        with partial.open("x", encoding="utf-8", newline="\n") as file:
            with suppress(FileNotFoundError):
                shutil.copymode(out, partial)
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        partial.replace(os.path.realpath(out))  # a link stays a link
        _sync(partial.parent)
    except OSError as error:  # of the partial file, whose name says nothing
        raise OSError(error.errno, error.strerror, str(out)) from error
    finally:
        with suppress(OSError):
            partial.unlink()


def require_apart(
    option: str,
    out: Path | None,
    starts: tuple[bytes, ...],
    read: Iterable[str | Path | None],
) -> None:
    """Raise ClientError `bad-place` if writing a file would damage one that is read, a test set, or a foreign file.

    A file that exists is replaced only if it is empty, or begins as those do that are written here.
    """
    if out is None:
        return
    problem = ""
    with suppress(OSError):  # writing says so
        problem = _damage(out, starts, [Path(one) for one in read if one])
    if problem:
        raise ClientError("bad-place", f"{option} {out} {problem}; name another file")


def _damage(out: Path, starts: tuple[bytes, ...], read: list[Path]) -> str:
    real = Path(os.path.realpath(out))
    for one in read:
        if real == Path(os.path.realpath(one)):
            return "is used by another option, too"
    for folder in real.parents:
        if is_file(folder / "manifest.json") and is_there(folder / "images"):
            return f"is in the test set {folder}, where nothing may be added"
    if is_file(out):
        begin = read_regular(out, FIRST_BYTES)
        if begin and not begin.startswith(starts):
            return "exists, and is no such file"
    return ""


def _is_device(out: Path) -> bool:
    """Return True for a device, False for a regular or missing file; raise OSError for anything else."""
    found = status(out)
    if found is None or stat.S_ISREG(found.st_mode):
        return False
    if not stat.S_ISCHR(found.st_mode):  # opening a pipe without a reader would block
        raise OSError(errno.EINVAL, "it is not a regular file")
    return True


def _sync(folder: Path) -> None:
    """Wait until a folder's entries are on disk, if the system supports that."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _sibling(out: Path) -> Path:
    """Return an unused name in the folder of the file that `out` resolves to."""
    return Path(os.path.realpath(out)).with_name(f".{secrets.token_hex(8)}.partial")
