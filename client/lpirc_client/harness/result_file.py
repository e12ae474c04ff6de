"""The file that a result goes into: tried before the work, and written whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path


def require_place(out: Path) -> None:
    """Raise OSError unless a result can be written there, and leave the place as it is."""
    kind = _kind(out)
    if kind is not None:
        with out.open("ab"):
            pass
    if kind != "device":
        trial = _sibling(out)
        trial.touch(exist_ok=False)
        trial.unlink()


def write_result(out: Path, text: str) -> None:
    """Write the text, on a line of its own; what was in the file before stays until all of it is there.

    Raises OSError.
    """
    if _kind(out) == "device":
        out.write_text(text + "\n", encoding="utf-8")
        return
    partial = _sibling(out)
    try:
        with partial.open("x", encoding="utf-8") as file:
            with suppress(FileNotFoundError):
                shutil.copymode(out, partial)
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        partial.replace(os.path.realpath(out))  # a link stays one
    finally:
        with suppress(OSError):
            partial.unlink()


def _kind(out: Path) -> str | None:
    """What is there: "file", "device", or None for nothing yet; raises OSError for anything else."""
    try:
        out.stat()
    except FileNotFoundError:
        return None
    if out.is_file():
        return "file"
    if out.is_char_device():
        return "device"
    raise OSError(errno.EINVAL, "it is no regular file")  # a pipe without a reader would be waited for


def _sibling(out: Path) -> Path:
    """A new name beside the file that `out` leads to."""
    return Path(os.path.realpath(out)).with_name(f".{secrets.token_hex(8)}.partial")
