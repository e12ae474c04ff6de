"""Checks what is at a path; if access is denied, raises OSError instead of answering "not there".

`Path.exists` and similar methods return False in both cases since Python 3.14; before, it depended on the error.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NoReturn


def status(path: Path) -> os.stat_result | None:
    """Return the `os.stat` result of a path, following links, or None if nothing is there. Raises OSError."""
    try:
        return path.stat()
    except (
        FileNotFoundError,
        NotADirectoryError,
        ValueError,
    ):  # ValueError: a name that no file can have
        return None


def is_there(path: Path) -> bool:
    """Return True if anything is at the path. Raises OSError."""
    return status(path) is not None


def is_file(path: Path) -> bool:
    """Return True if a regular file is at the path. Raises OSError."""
    found = status(path)
    return found is not None and stat.S_ISREG(found.st_mode)


def is_folder(path: Path) -> bool:
    """Return True if a folder is at the path. Raises OSError."""
    found = status(path)
    return found is not None and stat.S_ISDIR(found.st_mode)


def files_below(folder: Path) -> list[Path]:
    """Return the files in a folder and its subfolders, by name; links to folders are not followed.

    Raises OSError for a folder that may not be listed, where `Path.rglob` would find nothing.
    """
    found = [
        Path(place, name)
        for place, _, names in os.walk(folder, onerror=_refuse)
        for name in names
    ]
    return sorted(found)


def _refuse(error: OSError) -> NoReturn:
    raise error


def not_a_folder(path: Path) -> str:
    """Return why a path that is no folder is none, with what to do, without a full stop."""
    if is_there(path):
        return "it is a file; a folder is needed"
    return "no such folder; check the path"
