"""Stands by for a host that serves a contest: follows its journal, and serves the contest once that host is dead.

The order decides that nothing acknowledged is lost: claim the next epoch, then read the journal to its end. The first
host looks whether its epoch is over after it has written and before it acknowledges.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from referee.clock import Clock
from referee.config import ContestConfig, read_config
from referee.contest import contest_id, require_unchanged
from referee.errors import RefereeError
from referee.journal.epochs import Claim, claim_epoch, claim_of, newest_epoch, own_claim
from referee.journal.first_host import Address, FirstHost
from referee.journal.place import is_shared, journal_folder
from referee.judging.status import program_version
from referee.store.following import Follower
from referee.web.answers import STATUS_LINES, Environ, StartResponse
from referee.web.gateway import App
from referee.web.listener import Listen
from referee.web.problems import problem
from referee.web.server import health_status, load_app, run_server
from lpirc_testsets import load_test_set

logger = logging.getLogger(__name__)
LOOK_S = 0.2
RETRY_AFTER_S = 2
FRESH_EPOCHS = 100


@dataclass(frozen=True)
class Watch:
    """Whom a standby watches: `first` is where that host answers; after `after_s` seconds of silence it is dead.

    `now`: it is not asked; this host takes over at once.
    """

    first: Address | None
    after_s: float
    now: bool = False


class Door:
    """The WSGI app of a host that stands by: it answers 503 to everything, until there is another app."""

    def __init__(self, sentence: str) -> None:
        self._answer = problem(503, "stands-by", sentence, {"retry_after_s": RETRY_AFTER_S})
        self._app: App | None = None

    def open(self, app: App) -> None:
        """Let that app answer from now on."""
        self._app = app

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        if self._app is not None:
            return self._app(environ, start_response)
        answer = self._answer
        start_response(STATUS_LINES[answer.status], answer.headers)
        assert isinstance(answer.body, bytes)
        return [] if environ["REQUEST_METHOD"] == "HEAD" else [answer.body]
