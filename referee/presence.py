"""Checks whether something exists at a path; an unreadable path raises an error instead of seeming to be missing.

Since Python 3.14, `Path.exists` and similar methods return False in both cases; earlier, the error decided.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from referee.errors import RefereeError


def status(path: Path) -> os.stat_result | None:
    """Return the stat result of a path, following links; None if nothing is there.

    Raises RefereeError `not-accessible`.
    """
    try:
        return path.stat()
    except (
        FileNotFoundError,
        NotADirectoryError,
        ValueError,
    ):  # ValueError: not a possible file name
        return None
    except OSError as error:
        raise not_accessible(path, error) from error


def is_there(path: Path) -> bool:
    """Return True if anything exists at the path. Raises the errors of `status`."""
    return status(path) is not None


def is_file(path: Path) -> bool:
    """Return True if a regular file exists at the path. Raises the errors of `status`."""
    found = status(path)
    return found is not None and stat.S_ISREG(found.st_mode)


def is_folder(path: Path) -> bool:
    """Return True if a folder exists at the path. Raises the errors of `status`."""
    found = status(path)
    return found is not None and stat.S_ISDIR(found.st_mode)


def entries(folder: Path) -> list[Path]:
    """Return the entries of a folder, ordered by name; empty if there is no folder. Raises the errors of `status`.

    For a folder that may not be listed, `Path.glob` would return nothing instead of raising.
    """
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise not_accessible(folder, error) from error


def is_free(folder: Path) -> bool:
    """Return True if a folder can be created there: nothing exists, or an empty folder. Raises what `status` raises."""
    if not is_there(folder):
        return True
    return is_folder(folder) and not entries(folder)


def not_accessible(path: Path, error: OSError) -> RefereeError:
    """Return the error for a path that this user may not access."""
    remedy = ""
    if isinstance(error, PermissionError):
        remedy = (
            "; run this as the user who owns it, or give this user access with chmod"
        )
    return RefereeError(
        "not-accessible", f"{path} cannot be accessed: {error.strerror}{remedy}."
    )
