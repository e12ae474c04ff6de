"""Offers the pages of model tracks to the referee's server: the entry `tracks` of `lpirc.pages`."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from urllib.parse import quote

from lpirc_tracks.submissions.confining import note_confinement
from lpirc_tracks.submissions.oddities import odd_uploads
from lpirc_tracks.submissions.open_track import wrong_rules
from lpirc_tracks.web import (
    device_routes,
    entry_routes,
    track_board_pages,
    upload_routes,
)
from lpirc_tracks.web.background import background_of
from referee.clock import Clock
from referee.contest import Contest
from referee.seams import Finding, Pages

logger = logging.getLogger(__name__)

ROUTES = (entry_routes, upload_routes, device_routes, track_board_pages)


def tracks_pages(contest: Contest, clock: Clock) -> Pages:
    """Create the pages, links and background work of a contest's tracks."""
    names = [one.name for one in contest.config.tracks]
    background = background_of(contest, clock)
    return Pages(
        blueprints=[module.blueprint for module in ROUTES],
        state=background,
        links=[(name, f"/tracks/{quote(name)}") for name in names],
        start=background.ask,
        close=background.close,
        look=partial(_look, contest),
        attention=partial(_attention, contest),
        handed_in=entry_routes.entries_of,
    )


def _look(contest: Contest) -> None:
    """Log rules that are wrong, and how models are confined."""
    for one in wrong_rules(contest):
        logger.error("%s", one.sentence)
    note_confinement(contest)


def _attention(contest: Contest) -> Iterator[Finding]:
    yield from wrong_rules(contest)
    yield from _odd_uploads(contest)


def _odd_uploads(contest: Contest) -> Iterator[Finding]:
    for track in contest.config.tracks:
        for one in odd_uploads(contest.store.submissions.all(track.name)):
            yield Finding(one.code, f"Track {track.name}: {one.sentence}")
