"""Presence at a path: a path that may not be looked at is an OSError, not "not there".

`Path.exists` and its like answer False for both since Python 3.14; before, it depended on the error.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path


def status(path: Path) -> os.stat_result | None:
    """Return what the system says of a path, links followed; None if nothing is there. Raises OSError."""
    try:
        return path.stat()
    except (
        FileNotFoundError,
        NotADirectoryError,
        ValueError,
    ):  # ValueError: a name that no file can have
        return None


def is_there(path: Path) -> bool:
    """Return whether anything is there. Raises OSError."""
    return status(path) is not None


def is_folder(path: Path) -> bool:
    """Return whether a folder is there. Raises OSError."""
    found = status(path)
    return found is not None and stat.S_ISDIR(found.st_mode)


def names(folder: Path) -> list[str]:
    """Return the names in a folder; none if there is no folder. Raises OSError.

    `Path.glob` finds nothing in a folder that may not be listed.
    """
    try:
        return sorted(os.listdir(folder))  # noqa: PTH208 - names suffice
    except (FileNotFoundError, NotADirectoryError):
        return []
