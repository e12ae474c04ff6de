"""The replays of published runs as everyone may see them, kept in the web process.

The published row alone says which runs there are, and with which figures; a replay of other figures is not shown.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from referee.errors import RefereeError
from referee.judging.freeze import Freeze
from referee.judging.replay_release import (
    latest_pair,
    mark_of,
    public_replay,
    published_places,
    why_hidden,
)
from referee.store.records import Published
from referee.store.replay_table import StoredReplay
from referee.web.image_files import ImageFiles
from referee.web.made_once import made_once
from referee.web.public.kept_answers import Kept, keep
from referee.web.published_board import PublishedBoard

KEPT_REPLAYS = 8
KEPT_PICTURES = 300
WIDTH = 480
QUALITY = 60


@dataclass(frozen=True)
class Version:
    """A version of a public replay: the run, its place as JSON, and why images and boxes are hidden, if they are."""

    run: int
    place: str
    hidden: str | None


class PublishedReplays:
    """Public replays and their pictures."""

    def __init__(self, board: PublishedBoard, images: ImageFiles) -> None:
        self._board = board
        self._images = images
        self._replays = board.contest.store.replays
        self.document: Callable[[Version], Kept] = made_once(KEPT_REPLAYS)(self._made)
        self._picture = made_once(KEPT_PICTURES)(self._small)

    def places(self) -> dict[int, dict[str, Any]]:
        """Return the places of the runs that have a replay to be seen, ranked ones first."""
        marks = self._replays.marks()
        rule = self._board.contest.config.contest_rule
        places = _places_on(self._board.row())
        return {
            run: place
            for run, place in places.items()
            if marks.get(run) == mark_of(place, rule)
        }

    def latest_pair(self) -> tuple[int, ...]:
        """Return the two runs of the newest decided heat whose replays can be seen; nothing if there is none."""
        return latest_pair(self._board.row(), self.places())

    def version(self, run: int) -> Version:
        """Return the version of a run's replay that is public now. Raises RefereeError `replay-unknown`."""
        place = self.places().get(run)
        if place is None:
            raise _unknown(run)
        return Version(run, json.dumps(place), self.why_hidden())

    def why_hidden(self) -> str | None:
        """Return why images and boxes are not public now; None if they are."""
        config = self._board.contest.config
        freeze = Freeze(self._board.row(), config.freeze_at)
        now = self._board.clock.utc()
        return why_hidden(config.ground_truth_secret_until, freeze, now)

    def picture(self, run: int, image: int) -> bytes:
        """Return an image of a public replay as a small JPEG, by the number that the team knows.

        Raises RefereeError `replay-unknown`, `image-unknown`, `testset-changed`.
        """
        version = self.version(run)
        original = None
        if version.hidden is None:
            stored = self._stored(run)
            original = json.loads(stored.originals).get(str(image))
        if original is None:
            raise RefereeError("image-unknown", "This replay shows no such image.")
        return self._picture(original)

    def _small(self, original: int) -> bytes:
        from referee.pages.small_pictures import small_jpeg  # with Pillow

        jpeg = self._images.read(original)
        return small_jpeg(io.BytesIO(jpeg), WIDTH, QUALITY) or jpeg

    def _made(self, version: Version) -> Kept:
        stored = self._stored(version.run)
        place = json.loads(version.place)
        rule = self._board.contest.config.contest_rule
        if stored.made_of != mark_of(place, rule):
            raise _unknown(version.run)
        document = json.loads(stored.document)
        shown = public_replay(document, place, hidden=version.hidden)
        text = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
        return keep(text, "application/json")

    def _stored(self, run: int) -> StoredReplay:
        stored = self._replays.get(run)
        if stored is None:
            raise _unknown(run)
        return stored


@made_once(2)
def _places_on(row: Published) -> dict[int, dict[str, Any]]:
    return published_places(row)


def _unknown(run: int) -> RefereeError:
    sentence = f"There is no public replay of run {run}. Replays of published runs are made within a minute."
    return RefereeError("replay-unknown", sentence)
