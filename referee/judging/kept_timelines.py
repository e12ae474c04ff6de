"""The client timelines that the jury was given, kept in the contest folder by run, for the reports of these runs."""

from __future__ import annotations

from pathlib import Path

from referee.judging.client_timeline import ClientTimeline, read_timeline
from referee.presence import entries, is_there

FOLDER = "timelines"


def timeline_file(folder: Path, number: int) -> Path:
    """Return the file that keeps the timeline of a run of the contest in `folder`; there may be none."""
    return folder / FOLDER / f"run-{number}.json"


def timeline_files(folder: Path) -> list[Path]:
    """Return the files of all timelines that are kept. Raises RefereeError `not-accessible`."""
    return [one for one in entries(folder / FOLDER) if one.match("run-*.json")]


def kept_timeline(folder: Path, number: int) -> ClientTimeline | None:
    """Return the timeline that is kept for a run, or None. Raises RefereeError `bad-timeline`, OSError."""
    file = timeline_file(folder, number)
    return read_timeline(file.read_bytes()) if is_there(file) else None
