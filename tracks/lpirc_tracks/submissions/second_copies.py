"""Second copies of uploads, stored beside a shared journal, so that a host that takes over has the files, too."""

from __future__ import annotations

import logging
from pathlib import Path

from lpirc_score.files.atomic_write import parts_of, write_atomically
from referee.config.tracks import MODELS
from referee.contest import Contest
from referee.errors import RefereeError, StorageFailed
from referee.journal.place import is_shared, journal_folder

logger = logging.getLogger(__name__)


def copy_aside(contest: Contest, file: Path, name: str) -> None:
    """Copy an upload onto the disk of a shared journal, under its name in `models/`.

    Without such a journal, do nothing.

    On failure, raises StorageFailed if the journal is required; otherwise logs a warning.
    """
    copy = _copy_of(contest, name)
    if copy is None:
        return
    try:
        if _has_size(copy, file.stat().st_size):
            return
        copy.parent.mkdir(mode=0o700, exist_ok=True)
        write_atomically(copy, parts_of(file), 0o600)
    except OSError as error:
        sentence = f"The file cannot be copied to the journal's disk, {copy.parent} ({error.strerror})"
        if contest.config.journal.required:
            words = "so nothing was accepted; send the file again. Operator: check that disk's space and permissions."
            raise StorageFailed(f"{sentence}, {words}") from error
        logger.warning("%s: %s has no second copy", sentence, name)


def require_file(contest: Contest, kept: Path) -> None:
    """Make sure that an uploaded file is in place, copying it from the journal's disk if another host received it.

    Raises RefereeError `upload-missing` if neither place has it, which is not the team's fault.
    """
    if kept.is_file():
        return
    copy = _copy_of(contest, kept.name)
    try:
        if copy is None or not copy.is_file():
            sentence = (
                f"The upload {kept} is gone, so its entry waits; put the file back "
                "(the host that received it has it in models/), or withdraw the entry."
            )
            raise RefereeError("upload-missing", sentence)
        kept.parent.mkdir(mode=0o700, exist_ok=True)
        write_atomically(kept, parts_of(copy), 0o600)
    except OSError as error:
        sentence = f"The upload {kept} cannot be copied from {copy}: {error.strerror}; its entry waits."
        raise RefereeError("upload-missing", sentence) from error


def remove_copy(contest: Contest, name: str) -> None:
    """Remove the second copy of an upload that is no longer needed."""
    copy = _copy_of(contest, name)
    if copy is not None:
        copy.unlink(missing_ok=True)


def _copy_of(contest: Contest, name: str) -> Path | None:
    """Return the path of a second copy, or None if the journal is not shared."""
    if not is_shared(contest.config):
        return None
    return journal_folder(contest.folder, contest.config) / MODELS / name


def _has_size(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size
