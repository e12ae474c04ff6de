"""Makes the replays of the runs on the public board, one after the other, beside the server."""

from __future__ import annotations

import json
import logging
import math
import threading

from lpirc_testsets import TestSetError
from referee.clock import Clock
from referee.contest import Contest
from referee.errors import RefereeError, StorageFailed
from referee.judging.freeze import Freeze
from referee.judging.replay import has_its_images, replay_of
from referee.judging.replay_release import mark_of, published_places
from referee.store.replay_table import StoredReplay

logger = logging.getLogger(__name__)

TICK_S = 2.0
AGAIN_S = 60.0
PASSING = (OSError, MemoryError, StorageFailed, TestSetError)
"""Failures of this host or of its test set, not of a run: its replay is tried again after AGAIN_S."""


def publish_replays(contest: Contest, clock: Clock, stop: threading.Event) -> None:
    """Make missing replays until `stop` is set; log an error and try again."""
    publisher = ReplayPublisher(contest, clock)
    while not stop.is_set():
        start_s = clock.monotonic_s()
        try:
            publisher.tick()
        except RefereeError as error:
            logger.warning("no replay can be made now: %s", error.sentence)
        clock.wait(stop, start_s + TICK_S)


class ReplayPublisher:
    """The replays of the published runs. While the board hides news, none is made: it could be of newer figures."""

    def __init__(self, contest: Contest, clock: Clock) -> None:
        self._contest = contest
        self._clock = clock
        self._again_s: dict[tuple[int, str], float] = {}

    def tick(self) -> None:
        """Make the replay of the best published run that has none, or one of other figures."""
        row = self._contest.store.published.get()
        freeze = Freeze(row, self._contest.config.freeze_at)
        if row is None or freeze.hides_news(self._clock.utc()):
            return
        known = self._contest.store.replays.marks()
        for number, place in published_places(row).items():
            mark = mark_of(place, self._contest.config.contest_rule)
            if known.get(number) != mark and self._is_due(number, mark):
                self._make(number, mark)
                return

    def _is_due(self, number: int, mark: str) -> bool:
        """Return False if a replay has failed for good, or a short time ago."""
        again_s = self._again_s.get((number, mark))
        return again_s is None or self._clock.monotonic_s() >= again_s

    def _make(self, number: int, mark: str) -> None:
        try:
            made = replay_to_store(self._contest, number, self._clock)
        except PASSING:
            logger.warning(
                "the replay of run %d cannot be made now; it is tried again in %.0f s",
                number,
                AGAIN_S,
                exc_info=True,
            )
            self._again_s[number, mark] = self._clock.monotonic_s() + AGAIN_S
            return
        except Exception:  # of one run: the others' replays are made all the same
            logger.exception("the replay of run %d cannot be made", number)
            self._again_s[number, mark] = math.inf
            return
        freeze = Freeze(None, self._contest.config.freeze_at)
        # The run may have been judged again since it was published; the board may be due to be frozen since then.
        if made.made_of == mark and not freeze.is_due(self._clock.utc()):
            self._contest.store.replays.put(made)


def replay_to_store(contest: Contest, number: int, clock: Clock) -> StoredReplay:
    """Return the replay of a run as it is stored."""
    run = contest.store.runs.get(number)
    replay = replay_of(contest, run, clock.utc())
    originals = {}
    if has_its_images(contest, run):
        order = contest.store.runs.image_order(number)
        for image in replay["frames"]["image"]:
            originals[image] = int(order[image - 1])
    document = json.dumps(replay, ensure_ascii=False, separators=(",", ":"))
    mark = mark_of(replay["final"], contest.config.contest_rule)
    return StoredReplay(number, mark, document, json.dumps(originals))
