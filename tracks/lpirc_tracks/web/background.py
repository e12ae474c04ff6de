"""The background work of model tracks in a server: checks received uploads and scores results files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from flask import current_app

from lpirc_tracks.submissions.check_queue import CheckQueue
from lpirc_tracks.submissions.results_files import EntryDesk
from lpirc_tracks.submissions.resumable import ResumableUploads
from referee.clock import Clock
from referee.contest import Contest
from referee.installed import TRACKS


@dataclass(frozen=True)
class Background:
    """Background work: the checks of received uploads, the scoring of results files, and uploads in progress."""

    entries: EntryDesk
    checks: CheckQueue
    resumable: ResumableUploads

    def ask(self) -> None:
        """Request that waiting uploads are checked and scored soon, including those from before a restart."""
        self.checks.ask()
        self.entries.ask()

    def close(self) -> None:
        """Stop, and put the uploads being checked or scored back into their queues."""
        self.checks.close()
        self.entries.close()


def background_of(contest: Contest, clock: Clock) -> Background:
    """Create the background work of a contest, without starting it."""
    entries = EntryDesk(contest, clock)
    checks = CheckQueue(contest, clock, entries.ask)
    return Background(entries, checks, ResumableUploads(contest, clock))


def background() -> Background:
    """Return the background work of the app that handles the current request."""
    return cast(Background, current_app.extensions[TRACKS])
