"""Follows what needs attention while the contest is served: logs each finding once, and asks plug-ins for theirs."""

from __future__ import annotations

import logging
import threading

from referee.clock import Clock
from referee.errors import RefereeError
from referee.judging.attention import TROUBLES
from referee.judging.attention_items import Severity
from referee.web.live_status import LiveStatus
from referee.web.plugged_pages import PluggedPages

LOOK_S = 2.0
PLUG_INS_S = 10.0
"""Interval at which plug-ins are asked; the status shows what they said last."""
LOGGED_BY_OTHERS = frozenset(code for code, _ in TROUBLES.values())

logger = logging.getLogger(__name__)


class AttentionWatch:
    """Watches the findings of the status. A plug-in that hangs delays only this watch."""

    def __init__(self, status: LiveStatus, plugged: PluggedPages, clock: Clock) -> None:
        self._status = status
        self._plugged = plugged
        self._clock = clock
        self._known: frozenset[str] = frozenset()
        self._ask_s = clock.monotonic_s()

    def run(self, ended: threading.Event) -> None:
        """Look until `ended` is set."""
        while not self._clock.wait(ended, self._clock.monotonic_s() + LOOK_S):
            self.look()

    def look(self) -> None:
        """Log what is new. A finding that ends and comes back is logged again."""
        now_s = self._clock.monotonic_s()
        if now_s >= self._ask_s:
            self._ask_s = now_s + PLUG_INS_S
            self._status.plugged = self._plugged.attention()
        try:
            found = self._status.look().attention
        except RefereeError:
            return  # the watch of the files says so
        for one in found:
            if one["id"] in self._known or one["code"] in LOGGED_BY_OTHERS:
                continue
            level = logging.WARNING
            if one["severity"] == Severity.TO_DO:
                level = logging.INFO
            logger.log(level, "needs attention: %s", one["sentence"])
        self._known = frozenset(one["id"] for one in found)
