"""Background watches in the server's process; no request waits for them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

from referee.clock import Clock
from referee.errors import RefereeError
from referee.store import Store
from referee.web.arriving_bodies import ArrivingBodies
from referee.web.automatic_judging import AutomaticJudging
from referee.web.config_watch import ConfigWatch
from referee.web.journal_watch import JournalWatch
from referee.web.published_board import PublishedBoard
from referee.web.refused_requests import Refusals

WATCH_S = 1.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ServerWatches:
    """The watches of the server's process: bodies, settings, the journal, refusals, ended runs, the published log."""

    refusals: Refusals
    bodies: ArrivingBodies
    config_watch: ConfigWatch
    journal_watch: JournalWatch
    auto_judging: AutomaticJudging
    board: PublishedBoard


class EachSecond:
    """One of the looks made each second. What fails in it is logged, and again only after it has succeeded once.

    A failure ends neither this look nor the others.
    """

    def __init__(self, look: Callable[[], object]) -> None:
        self._look = look
        self._logged = ""

    def look(self) -> None:
        """Look once."""
        try:
            self._look()
        except Exception as error:
            said = str(error) or type(error).__name__
            if said != self._logged:
                is_unexpected = not isinstance(error, RefereeError)
                logger.error("%s", said, exc_info=is_unexpected)  # noqa: TRY400 - its words suffice
            self._logged = said
        else:
            self._logged = ""


def watch_files(
    watches: ServerWatches, store: Store, clock: Clock, ended: threading.Event
) -> None:
    """Check each second that the database file is still the one in use and contest.toml is unchanged.

    Each check also stores the requests refused since the last one, and has the runs judged that have ended.
    """
    each_second = [
        EachSecond(watches.config_watch.look),
        EachSecond(lambda: store.integrity.watch(clock.utc())),
        EachSecond(
            store.served.flush
        ),  # a run whose meter is silent stores nothing else
        EachSecond(watches.refusals.store_new),
        EachSecond(watches.auto_judging.look),
        EachSecond(watches.board.log_head),  # for the answers to POSTs
    ]
    has_ended = False
    while not has_ended:
        has_ended = clock.wait(ended, clock.monotonic_s() + WATCH_S)
        for one in each_second:
            one.look()
