"""The replay of a run within its report: data, pictures and player in the page itself."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from referee.contest import Contest
from referee.judging.replay import Moments, has_its_images, replay_of
from referee.judging.replay_frames import evenly
from referee.judging.stop_regret import StopRegret
from referee.pages.replay_player import player_script, player_style
from referee.pages.small_pictures import data_uri
from referee.store.records import Run

MOST_PICTURES = 300
MOST_PICTURE_BYTES = 3_000_000
"""Size of all pictures together, as they stand in the page."""
WIDTH = 320
QUALITY = 50
DATA_ID = "replay-data"


class ReplaySection(NamedTuple):
    """The parts of the section: the document as JSON for a page, the player, its style, and their size in bytes."""

    data: Markup
    script: Markup
    style: Markup
    size_bytes: int
    pictures: int
    images: int


def replay_section(
    contest: Contest,
    run: Run,
    now: datetime,
    regret: StopRegret | None = None,
) -> ReplaySection:
    """Return the replay of a run with as many evenly spaced pictures as the bounds allow.

    `regret` is the run's stop regret if it is known already: of 2 million rows it takes seconds.
    """
    moments = None
    if regret is not None:
        moments = Moments(regret)
    replay = replay_of(contest, run, now, moments)
    pictures = _pictures(contest, run, replay)
    images = len(replay["frames"]["image"])
    replay["pictures"] = pictures
    replay["left_out"]["pictures"] = images - len(pictures)
    data = htmlsafe_json_dumps(replay, separators=(",", ":"))
    script = player_script()
    style = player_style()
    parts = (data, script, style)
    return ReplaySection(
        data,
        Markup(script),  # noqa: S704 - our own file
        Markup(style),  # noqa: S704 - our own file
        size_bytes=sum(len(part.encode()) for part in parts),
        pictures=len(pictures),
        images=images,
    )


def _pictures(contest: Contest, run: Run, replay: dict[str, Any]) -> dict[str, str]:
    """Return small pictures as data: URIs, by the image number that the team knows. A missing file has none."""
    if not has_its_images(contest, run):
        return {}
    numbers = replay["frames"]["image"]
    order = contest.store.runs.image_order(run.id)
    found = {}
    for at in evenly(len(numbers), MOST_PICTURES).tolist():
        path = contest.test_set.image_path(int(order[numbers[at] - 1]))
        uri = data_uri(path, WIDTH, QUALITY)
        if uri is not None:
            found[str(numbers[at])] = uri
    return _within_bounds(found)


def _within_bounds(pictures: dict[str, str]) -> dict[str, str]:
    """Return as many of the pictures, evenly spaced, as take MOST_PICTURE_BYTES together."""
    total = sum(len(uri) for uri in pictures.values())
    if total <= MOST_PICTURE_BYTES:
        return pictures
    most = len(pictures) * MOST_PICTURE_BYTES // total
    names = [*pictures]
    kept = {names[at]: pictures[names[at]] for at in evenly(len(names), most).tolist()}
    while sum(len(uri) for uri in kept.values()) > MOST_PICTURE_BYTES:
        kept.popitem()
    return kept
