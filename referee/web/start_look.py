"""The process that checks all images, the key and the database while the server already answers.

It is forked from the server, so nothing is imported again, and it runs at low priority. It checks once and ends.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

from lpirc_testsets import TestSetError
from referee.contest import Contest, open_contest, require_unchanged
from referee.errors import RefereeError
from referee.runs.start_checks import Found, StartChecks
from referee.store.records import RunState
from referee.web.sole_server import end_with

NICENESS = 5  # serving requests comes first
END_S = 5.0

logger = logging.getLogger(__name__)


class StartLook:
    """The check made by a separate process; `checks` holds its result for the process that serves."""

    def __init__(self, folder: Path) -> None:
        self.checks = StartChecks()
        self._fault: RefereeError | TestSetError | None = None
        ours, its = multiprocessing.Pipe(duplex=False)
        self._found = ours
        self._process = multiprocessing.Process(
            target=_look,
            args=(folder, os.getpid(), its),
            name="start-look",
            daemon=True,
        )
        self._process.start()
        its.close()

    def on_fault(self, stop: Callable[[], None]) -> None:
        """Set `stop` to be called if a fault is found while no run is open."""
        threading.Thread(
            target=self._wait, args=(stop,), name="start-look", daemon=True
        ).start()

    def require_sound(self) -> None:
        """Raise the fault that has stopped the server, if there is one."""
        if self._fault is not None:
            raise self._fault

    def end(self) -> None:
        """End the checking process, because the server has ended."""
        self._process.terminate()
        self._process.join(END_S)

    def _wait(self, stop: Callable[[], None]) -> None:
        try:
            fault, is_run_open = self._found.recv()
        except (EOFError, OSError):  # it was killed, or the server ends
            self.checks.note(Found.FAULTS)
            logger.error(  # noqa: TRY400
                "The check of images and database was interrupted; start the server again."
            )
            return
        self._process.join()
        self.checks.note(Found.SOUND if fault is None else Found.FAULTS)
        if fault is None:
            return
        if is_run_open:  # teams that are in their window go on
            logger.error("%s", fault.sentence)
            return
        self._fault = fault
        stop()


class LookedAt:
    """A folder that was checked before, for example by a standby host."""

    def __init__(self) -> None:
        self.checks = StartChecks()
        self.checks.note(Found.SOUND)

    def on_fault(self, stop: Callable[[], None]) -> None:
        """Do nothing: no fault can be found."""

    def require_sound(self) -> None:
        """Do nothing: the folder is sound."""


@contextmanager
def looked_at() -> Iterator[LookedAt]:
    """Yield a finished check that found the folder sound."""
    yield LookedAt()


@contextmanager
def start_look(folder: Path) -> Iterator[StartLook]:
    """Check the contest in `folder` in a process that ends with the with statement."""
    look = StartLook(folder)
    try:
        yield look
    finally:
        look.end()


def _look(folder: Path, server: int, found: Connection) -> None:
    """Check the folder, and send the fault or None, and whether a run is open."""
    signal.signal(
        signal.SIGINT, signal.SIG_IGN
    )  # Ctrl-C reaches the server, which ends us
    os.nice(NICENESS)
    end_with(server)
    with open_contest(folder) as contest:
        fault = _fault_of(contest)
        is_run_open = bool(contest.store.runs.find(RunState.OPEN))
    found.send((fault, is_run_open))


def _fault_of(contest: Contest) -> RefereeError | TestSetError | None:
    try:
        contest.key.require()
        contest.store.integrity.require_sound()
        require_unchanged(contest.test_set)
    except (RefereeError, TestSetError) as error:
        return error
    return None
