"""The part of the app that the routes of tracks take."""

from __future__ import annotations

from dataclasses import dataclass, field

from lpirc_tracks.submissions.check_queue import CheckQueue
from lpirc_tracks.submissions.results_files import EntryDesk
from lpirc_tracks.submissions.resumable import ResumableUploads
from referee.clock import Clock
from referee.contest import Contest
from referee.web.app_parts import part
from referee.web.concurrency_limits import AddressSlots

UPLOADS_AT_ONCE = 512


@dataclass(frozen=True)
class WebState:
    """The queues and slots of model tracks; `upload_slots` are by team."""

    contest: Contest
    clock: Clock
    entries: EntryDesk
    checks: CheckQueue
    resumable: ResumableUploads
    upload_slots: AddressSlots = field(
        default_factory=lambda: AddressSlots(UPLOADS_AT_ONCE, 2)
    )


def web_state() -> WebState:
    """Return the part of the app that handles the present request."""
    return part(WebState)
