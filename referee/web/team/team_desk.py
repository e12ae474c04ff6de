"""The app part of teams' own pages: each team's document, read at most once a second, however many look at it."""

from __future__ import annotations

import threading
from typing import Any

from referee.judging.freeze import public_view
from referee.judging.team_view import TeamKnown, TeamViews
from referee.web.app_parts import part
from referee.web.callers import Callers
from referee.web.live_status import live_document
from referee.web.plugged_pages import PluggedPages
from referee.web.published_board import PublishedBoard

KEPT_S = 1.0


class TeamsDesk:
    """Keeps the newest document of each team."""

    def __init__(self, callers: Callers, board: PublishedBoard) -> None:
        self._callers = callers
        self._board = board
        self._views = TeamViews(callers.contest)
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[float, dict[str, Any]]] = {}

    def look(self, team: str) -> dict[str, Any]:
        """Return the document of a registered team, at most KEPT_S old."""
        with self._lock:
            now_s = self._callers.clock.monotonic_s()
            kept = self._kept.get(team)
            if kept is not None and 0 <= now_s - kept[0] < KEPT_S:
                return kept[1]
            now = self._callers.clock.utc()
            document = self._views.read(team, now, self._known(team, now_s))
            self._kept[team] = (now_s, document)
            return document

    def renew(self) -> None:
        """Discard the documents, because a question was asked or answered."""
        with self._lock:
            self._kept.clear()

    def _known(self, team: str, now_s: float) -> TeamKnown:
        control = self._callers.control
        published = public_view(self._board.row())["teams"].get(team)
        live = {
            number: live_document(one, now_s) | {"told": list(one.warnings)}
            for number, one in control.live_runs().items()
            if one.run.team == team
        }
        return TeamKnown(
            attempts=[] if published is None else published["attempts"],
            hides_news=self._board.is_frozen(),
            live=live,
            uploads=part(PluggedPages).handed_in(team),
        )
