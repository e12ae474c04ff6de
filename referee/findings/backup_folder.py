"""The folder of scheduled backups: one inside the contest folder is made; any other may be where a disk is mounted."""

from __future__ import annotations

import os
from pathlib import Path

from lpirc_score.files.atomic_write import require_writable
from lpirc_testsets.folder import MANIFEST
from referee.errors import RefereeError
from referee.presence import is_file, is_folder, is_there

HOME = "~"


def require_backup_folder(contest: Path, given: str) -> None:
    """Check the folder `given`, relative to the folder of a contest, which need not exist yet.

    Raises RefereeError `backup-folder` for `~`, and outside the contest folder for one that cannot hold a backup.
    """
    folder = _place(contest, given)
    _require_no_home(folder)
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
    _require_no_home(folder)
    if is_there(folder) and not is_folder(folder):
        raise RefereeError("backup-folder", f"{folder} is a file; name a folder.")
    if not is_folder(folder):
        sentence = f"There is no folder {folder} for backups; mount its disk, or make it, or name another folder."
        raise RefereeError("backup-folder", sentence)
    if is_file(folder / MANIFEST):
        words = "is a test set, where nothing may be added; name another folder"
        raise RefereeError("backup-folder", f"{folder} {words}.")
    try:
        require_writable(folder / "backup.zip")
    except OSError as error:
        sentence = f"No backup can be written into {folder} ({error.strerror}); name another folder."
        raise RefereeError("backup-folder", sentence) from error


def _require_no_home(folder: Path) -> None:
    """Refuse a folder that is called as a shell calls the home folder: it would be made under that name."""
    if HOME in folder.parts:
        words = f"{HOME} is not expanded in contest.toml; write the whole path"
        raise RefereeError("backup-folder", f"There is no folder {folder}: {words}.")


def _place(contest: Path, given: str) -> Path:
    return Path(os.path.realpath(contest / given))


def _is_inside(contest: Path, folder: Path) -> bool:
    return Path(os.path.realpath(contest)) in folder.parents
