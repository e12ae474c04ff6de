"""Background watches in the server's process; no request waits for them."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass

from referee.clock import Clock
from referee.errors import StorageFailed
from referee.store import Store
from referee.web.arriving_bodies import ArrivingBodies
from referee.web.automatic_judging import AutomaticJudging
from referee.web.config_watch import ConfigWatch
from referee.web.journal_watch import JournalWatch
from referee.web.refused_requests import Refusals

WATCH_S = 1.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ServerWatches:
    """The watches of the server's process: arriving bodies, contest.toml, the journal, refused requests, ended runs."""

    refusals: Refusals
    bodies: ArrivingBodies
    config_watch: ConfigWatch
    journal_watch: JournalWatch
    auto_judging: AutomaticJudging


def watch_files(
    watches: ServerWatches, store: Store, clock: Clock, ended: threading.Event
) -> None:
    """Check each second that the database file is still the one in use and contest.toml is unchanged.

    Each check also stores the requests refused since the last one, and has the runs judged that have ended.
    """
    has_ended = False
    logged = ""
    while not has_ended:
        has_ended = clock.wait(ended, clock.monotonic_s() + WATCH_S)
        watches.config_watch.look()
        try:
            store.integrity.watch(clock.utc())
            store.served.flush()  # a run whose meter is silent stores nothing else
            watches.refusals.store_new()
            watches.auto_judging.look()
            logged = ""
        except StorageFailed as error:
            if error.sentence != logged:  # not each second
                logger.error("%s", error.sentence)  # noqa: TRY400 - its words suffice
            logged = error.sentence
