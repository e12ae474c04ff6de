"""Watches the disk of a journal outside the contest folder: writes signs of life there, detects a stall or loss.

A journal that missed writes is restarted once its disk answers and no run is open.
"""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import count
from pathlib import Path

from referee.clock import Clock
from referee.config import read_config
from referee.contest import Contest
from referee.errors import JournalStalled, RefereeError, Superseded
from referee.journal.beats import BEAT_S, Beat, write_beat
from referee.journal.disk import JournalDisk
from referee.journal.epochs import Claim, own_claim, own_epoch, require_current
from referee.journal.place import behind_text, is_shared, journal_folder
from referee.store.journaling import LOCK_NAME
from referee.store.records import RunState

logger = logging.getLogger(__name__)


class JournalWatch:
    """Checks the journal's disk every BEAT_S seconds. `trouble` is a sentence about the problem there, or None."""

    def __init__(self, contest: Contest, clock: Clock) -> None:
        self.trouble: str | None = None
        self._store = contest.store
        self._folder = contest.folder
        self._journal = journal_folder(contest.folder, contest.config)
        self._required = contest.config.journal.required
        self._disk = JournalDisk(
            self._journal, contest.config.journal.deadline_s, clock
        )
        self._clock = clock
        self._ended = threading.Event()

    def begin(self, server: int) -> Callable[[], None]:
        """Start the checks, and return a function that ends them.

        `server` is the process to end once another host has taken over.
        """
        claim = own_claim(self._folder)
        thread = threading.Thread(
            target=self._watch, args=(claim, server), name="watch-journal", daemon=True
        )
        thread.start()

        def end() -> None:
            self._ended.set()
            thread.join()

        return end

    def _watch(self, claim: Claim | None, server: int) -> None:
        if claim is None:
            return
        for number in count(1):
            try:
                self._disk.do(partial(self._look, claim, number))
            except Superseded as error:
                self._say(error.sentence)
                os.kill(server, signal.SIGTERM)
                return
            except (RefereeError, OSError) as error:
                self._say(self._words(error))
            else:
                self._say(self._caught_up())
            if self._clock.wait(self._ended, self._clock.monotonic_s() + BEAT_S):
                break
        if os.getppid() != server:  # it was killed
            return
        with suppress(RefereeError, OSError):
            last = Beat(0, os.getpid(), is_ended=True)
            self._disk.do(partial(write_beat, self._journal, claim.epoch, last))

    def _look(self, claim: Claim, number: int) -> None:
        write_beat(self._journal, claim.epoch, Beat(number, os.getpid()))
        require_current(self._journal, claim)

    def _caught_up(self) -> str | None:
        """Restart the journal if it is behind.

        Return None if it is not behind any more, else why the restart must wait.

        All writes wait for the copy that a restart makes, so the restart waits until no run is open.
        """
        behind = f"It is not known if the journal at {self._journal} is behind"
        try:
            since = self._store.database.journal_behind_since()
            if since is None:
                return None
            behind = behind_text(self._journal, since)
            if self._store.runs.find(RunState.OPEN):
                return f"{behind}: its disk answers again, and the journal will restart once no run is open."
            self._store.database.begin_journal_again()
        except (RefereeError, OSError) as error:
            why = error.sentence if isinstance(error, RefereeError) else error.strerror
            return f"{behind}, and the journal cannot restart now: {why}"
        logger.warning(
            "%s; the journal has restarted, with a copy of the whole database", behind
        )
        return None

    def _words(self, error: RefereeError | OSError) -> str:
        if isinstance(error, OSError):
            what = f"The journal's disk at {self._journal} cannot be used ({error.strerror})"
        else:
            what = f"The journal's disk at {self._journal} does not answer"
        if self._required:
            return (
                f"{what}: nothing is accepted, and no window opens, until the disk can be used. Check the mount and "
                "its host."
            )
        words = "data accepted now are on this host's disk only"
        with suppress(RefereeError):
            if (since := self._store.database.journal_behind_since()) is not None:
                words = (
                    f"data accepted since {since[:19]} UTC are on this host's disk only"
                )
        return f"{what}: {words}. Check the mount and its host."

    def _say(self, trouble: str | None) -> None:
        if trouble is not None and trouble != self.trouble:
            logger.error("%s", trouble)
        if trouble is None and self.trouble is not None:
            logger.warning("the journal's disk at %s answers again", self._journal)
        self.trouble = trouble


def require_journal(contest: Contest, version: str, now: datetime) -> None:
    """Raise RefereeError unless a journal outside the contest folder answers and accepts this contest as its writer.

    Raises `journal-missing` if nothing is mounted there: a new folder on this host's own disk would be no second copy.
    Raises `journal-stalled` if the disk does not answer, or another process of this host still waits for it.
    """
    config = contest.config
    if not is_shared(config):
        return
    journal = journal_folder(contest.folder, config)
    claim = partial(
        own_epoch, journal, contest.folder, contest=contest.id, version=version, utc=now
    )
    disk = JournalDisk(journal, config.journal.deadline_s)
    try:
        disk.do(partial(_alone, contest.folder / LOCK_NAME, claim))
    except JournalStalled as error:
        words = (
            f"The journal's disk at {journal} has not answered for {config.journal.deadline_s:.1f} s, or another "
            "process of this host still waits for it. Check the mount of that disk, and try again."
        )
        raise RefereeError(error.code, words) from error
    except OSError as error:
        words = f"The journal's folder {journal} cannot be used ({error.strerror}); mount its disk, or make the folder."
        raise RefereeError("journal-missing", words) from error


def _alone(lock: Path, claim: Callable[[], Claim]) -> Claim:
    """Claim once no other work of this host is under way on the journal's disk.

    Opening the contest may have claimed the epoch without waiting for the end; that work holds the lock until then.
    """
    with lock.open("ab") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        return claim()


def require_not_superseded(folder: Path) -> None:
    """Raise Superseded if another host has taken over the contest in `folder`, RefereeError if its config is invalid.

    If the journal's disk does not answer, a takeover cannot be detected, and nothing is raised.
    """
    config = read_config(folder)
    claim = own_claim(folder)
    if is_shared(config) and claim is not None:
        journal = journal_folder(folder, config)
        disk = JournalDisk(journal, config.journal.deadline_s)
        with suppress(JournalStalled, OSError):
            disk.do(partial(require_current, journal, claim))
