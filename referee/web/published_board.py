"""The published row in the web process: looked up seldom, however many look at the board."""

from __future__ import annotations

from referee.clock import Clock
from referee.contest import Contest
from referee.judging.freeze import Freeze
from referee.judging.public_documents import empty_board
from referee.store.records import BoardState, Published

LOOK_S = 0.5


class PublishedBoard:
    """The published row, at most LOOK_S old."""

    def __init__(self, contest: Contest, clock: Clock) -> None:
        self.contest = contest
        self.clock = clock
        self._row: Published | None = None
        self._looked_s = 0.0

    def row(self) -> Published:
        """Return the published row; before anything is published, an empty board. Raises StorageFailed."""
        row = self._row
        now_s = self.clock.monotonic_s()
        if row is None or now_s - self._looked_s >= LOOK_S:
            self._looked_s = now_s  # first: others need not look as well
            nothing = Published("", empty_board(self.contest), BoardState.LIVE, 0)
            row = self._row = self.contest.store.published.get() or nothing
        return row

    def forget(self) -> None:
        """Look again at the next request: an operator has frozen or unveiled it."""
        self._row = None

    def is_frozen(self) -> bool:
        """Return True while no one may learn anything newer than the board, not even a team its own score."""
        freeze = Freeze(self.row(), self.contest.config.freeze_at)
        return freeze.hides_news(self.clock.utc())
