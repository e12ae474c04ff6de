"""The published row, kept in the web process. The database is read rarely, however many clients look at the board."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import NamedTuple

from referee.clock import Clock
from referee.contest import Contest
from referee.errors import StorageFailed
from referee.judging.freeze import Freeze
from referee.judging.public_documents import empty_board, published_head
from referee.store.records import BoardState, Published

LOOK_S = 0.5


class LogHead(NamedTuple):
    """A number of events of the log, and the link after them (hexadecimal)."""

    events: int
    link: str


class PublishedBoard:
    """A cache of the published row, at most LOOK_S old."""

    def __init__(self, contest: Contest, clock: Clock) -> None:
        self.contest = contest
        self.clock = clock
        self._first_look = threading.Lock()
        self._row: Published | None = None
        self._looked_s = 0.0
        self._head_of: tuple[Published | None, LogHead | None] = (None, None)

    def row(self) -> Published:
        """Return the published row, or an empty board if nothing is published yet. Raises StorageFailed."""
        row = self._row
        if row is None:
            with self._first_look:  # the others wait, and find its row
                return self._row or self._look()
        if self.clock.monotonic_s() - self._looked_s >= LOOK_S:
            return self._look()
        return row

    def _look(self) -> Published:
        # Set first, so that no other thread looks as well.
        self._looked_s = self.clock.monotonic_s()
        nothing = Published("", empty_board(self.contest), BoardState.LIVE, 0)
        row = self.contest.store.published.get() or nothing
        self._row = row
        return row

    def log_head(self) -> LogHead | None:
        """Return the newest public link of the log, that of the published results; None before there is one.

        Raises StorageFailed.
        """
        row = self.row()
        if row is not self._head_of[0]:
            found = published_head(row.document)
            head = None
            if found is not None:
                head = LogHead(found["events"], found["link"])
            self._head_of = (row, head)
        return self._head_of[1]

    def known_log_head(self) -> LogHead | None:
        """Return `log_head` as it was at the last look, without another one: a watch of the server looks each second.

        It is for the answer to a body that is on disk, which neither waits for a look nor fails by one.
        """
        head = self._head_of[1]
        if head is None:
            with suppress(StorageFailed):
                return self.log_head()
        return head

    def forget(self) -> None:
        """Discard the cached row, because an operator has frozen or unveiled the board."""
        self._row = None

    def is_frozen(self) -> bool:
        """Return True while the board is frozen: nobody may see newer results, and no team its own score."""
        freeze = Freeze(self.row(), self.contest.config.freeze_at)
        return freeze.hides_news(self.clock.utc())
