"""The folder of scheduled backups: one inside the contest folder is made; any other may be where a disk is mounted."""

from __future__ import annotations

import os
from pathlib import Path

from lpirc_score.files.atomic_write import require_writable
from referee.errors import RefereeError
from referee.presence import is_folder


def require_backup_folder(contest: Path, given: str) -> None:
    """Check the folder `given`, relative to the folder of a contest, which need not exist yet.

    Raises RefereeError `backup-folder` for one outside the contest folder that is missing or cannot hold a backup.
    """
    folder = _place(contest, given)
    if not _is_inside(contest, folder):
        require_can_hold(folder)


def make_backup_folder(contest: Path, given: str) -> None:
    """Make the folder if it lies in the contest folder. Raises RefereeError `backup-folder`."""
    folder = _place(contest, given)
    if not _is_inside(contest, folder):
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        sentence = f"{folder} cannot be used ({error.strerror}); name another folder."
        raise RefereeError("backup-folder", sentence) from error


def require_can_hold(folder: Path) -> None:
    """Raise RefereeError `backup-folder` unless a backup can be written into this folder; /proc takes no file."""
    if not is_folder(folder):
        sentence = f"There is no folder {folder} for backups; mount its disk, or make it, or name another folder."
        raise RefereeError("backup-folder", sentence)
    try:
        require_writable(folder / "backup.zip")
    except OSError as error:
        sentence = f"No backup can be written into {folder} ({error.strerror}); name another folder."
        raise RefereeError("backup-folder", sentence) from error


def _place(contest: Path, given: str) -> Path:
    return Path(os.path.realpath(contest / given))


def _is_inside(contest: Path, folder: Path) -> bool:
    return Path(os.path.realpath(contest)) in folder.parents
