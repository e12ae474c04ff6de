"""The document that a site shows: the public view of the board, without what changes in the hall each second."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from referee.contest import Contest
from referee.judging.freeze import Freeze, public_view
from referee.judging.prize_states import with_prize_states
from referee.judging.public_documents import (
    empty_board,
    log_head,
    public_board,
    public_hall,
)
from referee.store.records import BoardState, Published

OF_THE_HALL = ("now", "next", "utc")
_NAME_LENGTH = 16


@dataclass(frozen=True)
class SiteDocument:
    """The public board as of a time: of the freeze while it is frozen or being unveiled."""

    board: dict[str, Any]
    as_of_utc: str

    @property
    def state(self) -> str:
        """Return the state of the board."""
        return str(self.board["state"])

    @property
    def log_events(self) -> int:
        """Return the number of events up to the newest public link of the log."""
        head = self.board.get("log")
        return head["events"] if head else 0

    @property
    def teams(self) -> list[str]:
        """Return every team that the board names, ranked teams first."""
        found: dict[str, None] = {}
        for name in ("ranking", "unranked", "left_out", "attempts"):
            for one in self.board[name]:
                found[one["team"]] = None
        return [*found]

    @property
    def runs(self) -> list[int]:
        """Return the numbers of the runs that the board shows with their figures."""
        shown = [*self.board["ranking"], *self.board["unranked"]]
        return [one["run"] for one in shown]


def site_document(
    contest: Contest, now: datetime, utc: Callable[[], datetime]
) -> SiteDocument:
    """Return what is public at `now`: computed now, unless the board hides newer results.

    The board may be frozen while that takes its time, so row and clock, `utc`, are read once more at the end.
    """
    row = contest.store.published.get()
    freeze = Freeze(row, contest.config.freeze_at)
    if not freeze.hides_news(now):
        computed = _present(contest, row, now)
        row = contest.store.published.get()
        freeze = Freeze(row, contest.config.freeze_at)
        if not freeze.hides_news(utc()):
            row = computed
    if row is None:
        row = Published("", empty_board(contest), BoardState.LIVE, 0)
    board = public_view(row)
    as_of_utc = row.utc
    if freeze.is_on:
        as_of_utc = row.frozen_utc or row.utc
    # Announcements are made for the hall, and go on while the board is frozen.
    for name in OF_THE_HALL:
        board.pop(name, None)
    return SiteDocument(board | {"as_of_utc": as_of_utc}, as_of_utc)


def as_final(document: SiteDocument) -> SiteDocument:
    """Return the document of a contest that is over, whether or not attempts are left."""
    board = document.board | {"is_over": True}
    board["prizes"] = with_prize_states(board)
    return replace(document, board=board)


def team_page_name(team: str) -> str:
    """Return the name of a team's page, which no name of a team can turn into another path."""
    digest = hashlib.sha256(team.encode("utf-8", "replace")).hexdigest()
    return f"teams/{digest[:_NAME_LENGTH]}.html"


def _present(contest: Contest, row: Published | None, now: datetime) -> Published:
    """Return the board as it would be published at `now`, in full minutes."""
    minute = now.replace(second=0, microsecond=0).isoformat()
    document = public_board(contest, now, log=log_head(contest, now), before=row)
    hall = public_hall(contest, now)
    if row is None:
        return Published(minute, document, BoardState.LIVE, 0, hall=hall)
    return replace(row, utc=minute, document=document, hall=hall)
