"""Checks what exists at a path; an unreadable path raises OSError and is not taken for a missing one.

`Path.exists` and similar methods return False for both since Python 3.14; before, it depended on the error.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path


def status(path: Path) -> os.stat_result | None:
    """Return the system's stat of a path, following links; None if nothing exists there. Raises OSError."""
    try:
        return path.stat()
    except (
        FileNotFoundError,
        NotADirectoryError,
        ValueError,
    ):  # ValueError: a name that no file can have
        return None


def is_there(path: Path) -> bool:
    """Return True if anything exists there. Raises OSError."""
    return status(path) is not None


def is_file(path: Path) -> bool:
    """Return True if a regular file exists there. Raises OSError."""
    found = status(path)
    return found is not None and stat.S_ISREG(found.st_mode)


def is_folder(path: Path) -> bool:
    """Return True if a folder exists there. Raises OSError."""
    found = status(path)
    return found is not None and stat.S_ISDIR(found.st_mode)
