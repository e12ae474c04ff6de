"""Publishes the results and the hall once a second, and freezes the results at the time of the freeze."""

from __future__ import annotations

import logging
import threading
from datetime import UTC, datetime
from typing import Any

from referee.clock import Clock
from referee.contest import Contest
from referee.errors import RefereeError
from referee.judging.answered_images import AnsweredImages
from referee.judging.freeze import Freeze
from referee.judging.heat_documents import KnownHeats
from referee.judging.public_documents import (
    empty_board,
    log_head,
    public_board,
    public_hall,
    published_head,
)
from referee.judging.standings import KnownStandings
from referee.store.records import Published, RunState

logger = logging.getLogger(__name__)

TICK_S = 1.0
MINUTE = len("2027-06-20T13:30")


def publish(
    contest: Contest,
    clock: Clock,
    stop: threading.Event,
) -> None:
    """Publish the board each second if it has changed, until `stop` is set; log an error and try again."""
    publisher = Publisher(contest, clock)
    while not stop.is_set():
        start_s = clock.monotonic_s()
        try:
            publisher.tick()
        except RefereeError as error:
            logger.warning("the board cannot be published now: %s", error.sentence)
        except Exception:
            logger.exception("the board cannot be published")
        clock.wait(stop, start_s + TICK_S)


def publish_once(contest: Contest, clock: Clock) -> None:
    """Publish what is on record, before the server answers anything, if the log has grown since; log errors, go on.

    The journal does not have each publication, and a power cut may take one: clients may keep newer heads of the log.
    """
    try:
        Publisher(contest, clock).catch_up()
    except RefereeError as error:
        logger.warning("the board cannot be published yet: %s", error.sentence)
    except Exception:
        logger.exception("the board cannot be published yet")


class Publisher:
    """Publisher of the results and the hall."""

    def __init__(self, contest: Contest, clock: Clock) -> None:
        self._contest = contest
        self._store = contest.store
        self._clock = clock
        self._standings = KnownStandings(contest, published_only=True)
        self._heats = KnownHeats(contest)
        self._answered = AnsweredImages(contest.store)
        self._log: dict[str, Any] = {}

    def tick(self) -> None:
        """Publish once. If the freeze is due, freeze the board first; while it is frozen, publish only the hall."""
        row = self._store.published.get()
        document = None if Freeze(row).is_on else self._results(row)
        hall = public_hall(self._contest, self._clock.utc())
        has_changed = (
            row is None or row.hall != hall or document not in (None, row.document)
        )
        # Pages count an open run's clock from the time of publishing.
        if has_changed or self._store.runs.find(RunState.OPEN):
            self._store.published.publish(document, hall, self._clock.utc())

    def catch_up(self) -> None:
        """Publish once if the log has more events than the published head of it.

        A freeze that fell due while nothing was served freezes what was on record by then, unless there is newer.
        """
        row = self._store.published.get()
        if row is None:
            return
        head = published_head(row.document)
        if head is not None and head["events"] == self._store.log.head()[0]:
            return
        freeze_at = self._contest.config.freeze_at
        now = self._clock.utc()
        if freeze_at is not None and Freeze(row, freeze_at).is_due(now):
            is_all = not self._store.log.has_news_since(freeze_at)
            document = self._board(row) if is_all else None
            self._store.published.publish(
                document, public_hall(self._contest, now), now
            )
        self.tick()

    def _look_at_log(self, now: datetime) -> None:
        """Renew the head of the log if it has grown, and each minute; its time alone does not change each second."""
        head = log_head(self._contest, now)
        is_of_this_minute = head["utc"][:MINUTE] == self._log.get("utc", "")[:MINUTE]
        if not is_of_this_minute or head["events"] != self._log["events"]:
            self._log = head

    def _results(self, row: Published | None) -> str | None:
        """Return the results to publish, or None if this call has frozen the board.

        The clock is read last. If it is before the freeze, everything published was known before the freeze.
        """
        freeze_at = self._contest.config.freeze_at
        document = self._board(row)
        now = self._clock.utc()
        if freeze_at is not None and Freeze(row, freeze_at).is_due(now):
            # A link of the log that has been shown must still be in the log after a power cut.
            with self._store.durable() as store:
                store.published.freeze(
                    freeze_at.astimezone(UTC),
                    empty_board(self._contest),
                )
                store.log.append(
                    now,
                    None,
                    "board-freeze",
                    freeze_at=freeze_at.isoformat(),
                )
            logger.warning("the board is now frozen: it is %s", freeze_at.isoformat())
            return None
        return document

    def _board(self, row: Published | None) -> str:
        """Return the results at present, with the newest head of the log."""
        begun = self._clock.utc()
        self._look_at_log(begun)
        return public_board(
            self._contest,
            begun,
            self._standings.now(),
            self._log,
            self._heats.now(),
            row,
            self._answered,
        )
