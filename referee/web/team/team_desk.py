"""The app part of teams' own pages: each team's document, read at most once a second, however many look at it.

Each team has a lock of its own, so what is slow for one team holds up no other.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from referee.judging.freeze import public_view
from referee.judging.team_view import TeamKnown, TeamViews
from referee.web.app_parts import part
from referee.web.callers import Callers
from referee.web.html_pages import rendered
from referee.web.live_status import live_document
from referee.web.plugged_pages import PluggedPages
from referee.web.published_board import PublishedBoard
from referee.web.team.handed_in import HandedIn

KEPT_S = 1.0


@dataclass(frozen=True, eq=False)
class TeamLook:
    """A team's document, and the changing part of its page, which is rendered once for all who look."""

    document: dict[str, Any]

    @cached_property
    def fragment(self) -> str:
        """The changing part of the page."""
        return rendered("team/live.html", view=self.document)


class TeamsDesk:
    """Keeps the newest document of each team."""

    def __init__(self, callers: Callers, board: PublishedBoard) -> None:
        self._callers = callers
        self._board = board
        self._views = TeamViews(callers.contest)
        self._renewals = 0
        self._handed_in: HandedIn | None = None
        self._lock = threading.Lock()
        self._of_team: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._kept: dict[str, tuple[float, frozenset[int], TeamLook]] = {}

    def look(self, team: str) -> TeamLook:
        """Return the look of a registered team, at most KEPT_S old, and none from before a run of it began or ended."""
        with self._lock:
            of_team = self._of_team[team]
        with of_team:
            now_s = self._callers.clock.monotonic_s()
            live = self._live_of(team, now_s)
            kept = self._kept.get(team)
            if kept is not None and kept[1] == live.keys() and _is_new(kept[0], now_s):
                return kept[2]
            uploads = self._uploads().of_team(team)
            renewals = self._renewals
            now = self._callers.clock.utc()
            known = self._known(team, live, uploads)
            look = TeamLook(self._views.read(team, now, known))
            with self._lock:
                if renewals == self._renewals:
                    self._kept[team] = (now_s, frozenset(live), look)
            return look

    def renew(self) -> None:
        """Discard the documents, because a question was asked or answered."""
        with self._lock:
            self._renewals += 1
            self._kept.clear()

    def _uploads(self) -> HandedIn:
        """Return who asks the plug-ins, which are there only once the app is made."""
        with self._lock:
            if self._handed_in is None:
                self._handed_in = HandedIn(part(PluggedPages))
            return self._handed_in

    def _live_of(self, team: str, now_s: float) -> dict[int, dict[str, Any]]:
        """Return the documents of the team's open runs, by number."""
        return {
            number: live_document(one, now_s) | {"told": list(one.warnings)}
            for number, one in self._callers.control.live_runs().items()
            if one.run.team == team
        }

    def _known(
        self,
        team: str,
        live: dict[int, dict[str, Any]],
        uploads: list[dict[str, Any]],
    ) -> TeamKnown:
        published = public_view(self._board.row())["teams"].get(team)
        return TeamKnown(
            attempts=[] if published is None else published["attempts"],
            hides_news=self._board.is_frozen(),
            live=live,
            uploads=uploads,
        )


def _is_new(read_s: float, now_s: float) -> bool:
    return 0 <= now_s - read_s < KEPT_S
