"""What plug-ins say that each team has handed in. A plug-in that hangs holds up no page."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from typing import Any

from flask import copy_current_request_context

from referee.web.plugged_pages import PluggedPages

WAIT_S = 1.0

Documents = list[dict[str, Any]]


class HandedIn:
    """Asks plug-ins about a team in a thread of its own, one for each team at most, and keeps what they said last."""

    def __init__(self, plugged: PluggedPages) -> None:
        self._plugged = plugged
        self._lock = threading.Lock()
        self._asked: dict[str, Future[Documents]] = {}
        self._said: dict[str, Documents] = {}

    def of_team(self, team: str) -> Documents:
        """Return what a team has handed in; after WAIT_S, or while an earlier answer is late, what is known.

        It is called within a request, and so is the plug-in.
        """
        if not self._plugged.offers:
            return []
        with self._lock:
            is_late = team in self._asked
            if not is_late:
                self._asked[team] = Future()
            answer = self._asked[team]
        if is_late:
            return self._said.get(team, [])
        threading.Thread(
            target=copy_current_request_context(self._ask),
            args=(team, answer),
            name=f"handed-in {team}",
            daemon=True,
        ).start()
        try:
            return answer.result(WAIT_S)
        except Late:
            return self._said.get(team, [])

    def _ask(self, team: str, answer: Future[Documents]) -> None:
        try:
            found = self._plugged.handed_in(team)
        except BaseException as error:
            answer.set_exception(error)
            raise
        else:
            self._said[team] = found
            answer.set_result(found)
        finally:
            with self._lock:
                del self._asked[team]
