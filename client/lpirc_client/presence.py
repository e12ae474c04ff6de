"""Tells what is at a path; a path that must not be read raises OSError and does not count as missing.

`Path.exists` and its like return False for both since Python 3.14; before, it depended on the error.
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
    """Tell if anything is there. Raises OSError."""
    return status(path) is not None


def is_file(path: Path) -> bool:
    """Tell if a regular file is there. Raises OSError."""
    found = status(path)
    return found is not None and stat.S_ISREG(found.st_mode)


def is_folder(path: Path) -> bool:
    """Tell if a folder is there. Raises OSError."""
    found = status(path)
    return found is not None and stat.S_ISDIR(found.st_mode)
