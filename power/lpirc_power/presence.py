"""Existence of paths, where a path that cannot be examined is an OSError, not "not there".

`Path.exists` and similar methods return False in both cases since Python 3.14; before, it depended on the error.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path


def status(path: Path) -> os.stat_result | None:
    """Return the stat result of a path, following links; None if nothing is there. Raises OSError."""
    try:
        return path.stat()
    except (
        FileNotFoundError,
        NotADirectoryError,
        ValueError,
    ):  # ValueError: a name that no file can have
        return None


def is_there(path: Path) -> bool:
    """Return True if anything exists at the path. Raises OSError."""
    return status(path) is not None


def is_folder(path: Path) -> bool:
    """Return True if a folder exists at the path. Raises OSError."""
    found = status(path)
    return found is not None and stat.S_ISDIR(found.st_mode)


def names(folder: Path) -> list[str]:
    """Return the names in a folder; empty if there is no folder. Raises OSError.

    `Path.glob` would return nothing for a folder that cannot be listed.
    """
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - names suffice
    except (FileNotFoundError, NotADirectoryError):
        return []
