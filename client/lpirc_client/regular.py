"""Reading a file that somebody handed in."""

from __future__ import annotations

from pathlib import Path


def regular_bytes(path: Path, most_bytes: int = -1) -> bytes:
    """The file's first `most_bytes`, or all of it. Raises OSError, also for what is no regular file."""
    if path.exists() and not path.is_file():  # a pipe would be waited for, a device may never end
        raise OSError(None, "it is no regular file")
    with path.open("rb") as file:
        return file.read(most_bytes)
