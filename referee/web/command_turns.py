"""Commands about a contest that take long: each kind runs one at a time, in a low-priority process of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from referee.errors import RefereeError
from referee.web.judge_process import run_command

WAIT_S = 30.0
RETRY_S = 5

logger = logging.getLogger(__name__)


class Refused(NamedTuple):
    """The error of a command that fails: its code, and what could not be done."""

    code: str
    what: str


class CommandTurns:
    """The turns of one kind of command; `busy` is the sentence for who has waited WAIT_S in vain."""

    def __init__(self, busy: str) -> None:
        self._busy = busy
        self._lock = threading.Lock()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Keep others out. Raises RefereeError `too-many-requests`."""
        if not self._lock.acquire(timeout=WAIT_S):
            raise self.too_many()
        try:
            yield
        finally:
            self._lock.release()

    def too_many(self) -> RefereeError:
        """Return the error of who does not get a turn."""
        return RefereeError("too-many-requests", self._busy, retry_after_s=RETRY_S)

    def run(self, *words: str, refused: Refused) -> str:
        """Run a command in its turn and return what it prints. Raises RefereeError."""
        with self.turn():
            return output_of(*words, refused=refused)


def output_of(*words: str, refused: Refused) -> str:
    """Run a command and return what it prints. Raises RefereeError with the code of `refused`."""
    done, said = run_command(*words)
    if done.returncode:
        logger.error("%s: %s", " ".join(words[:3]), done.stderr.strip())
        raise RefereeError(refused.code, f"{refused.what}: {said}")
    return done.stdout
