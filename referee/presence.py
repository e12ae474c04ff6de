"""Tells whether something is at a path; a path that must not be read raises an error and does not count as missing.

`Path.exists` and its like answer False for both since Python 3.14; before, it depended on the error.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from referee.errors import RefereeError


def status(path: Path) -> os.stat_result | None:
    """Return the system's status of a path, links followed; None if nothing is there.

    Raises RefereeError `not-accessible`.
    """
    try:
        return path.stat()
    except (
        FileNotFoundError,
        NotADirectoryError,
        ValueError,
    ):  # ValueError: a name that no file can have
        return None
    except OSError as error:
        raise not_accessible(path, error) from error


def is_there(path: Path) -> bool:
    """Tell whether anything is there. Raises as `status`."""
    return status(path) is not None


def is_file(path: Path) -> bool:
    """Tell whether a regular file is there. Raises as `status`."""
    found = status(path)
    return found is not None and stat.S_ISREG(found.st_mode)


def is_folder(path: Path) -> bool:
    """Tell whether a folder is there. Raises as `status`."""
    found = status(path)
    return found is not None and stat.S_ISDIR(found.st_mode)


def entries(folder: Path) -> list[Path]:
    """List the entries of a folder, by name; nothing if there is no folder. Raises as `status`.

    `Path.glob` finds nothing in a folder that may not be listed.
    """
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise not_accessible(folder, error) from error


def is_free(folder: Path) -> bool:
    """Tell whether a new folder can have this place: nothing is there, or an empty folder. Raises as `status`."""
    if not is_there(folder):
        return True
    return is_folder(folder) and not entries(folder)


def not_accessible(path: Path, error: OSError) -> RefereeError:
    """The failure of a path that the system keeps from this user."""
    remedy = ""
    if isinstance(error, PermissionError):
        remedy = (
            "; run this as the user who owns it, or give this user access with chmod"
        )
    return RefereeError(
        "not-accessible", f"{path} cannot be accessed: {error.strerror}{remedy}."
    )
