"""Locks of a contest's submissions: one model is measured, and one result document is accepted, at a time.

The operating system releases a lock when its process dies. The file holds the number of the submission in progress.
"""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from referee.clock import Clock
from referee.contest import Contest
from referee.errors import RefereeError

MEASURING = "measuring"
HANDING_IN = "handing-in"
RETRY_S = 0.01
TIMEOUT_S = 0.2  # listing the submissions holds the lock for a moment

Record = Callable[[int], None]
"""Writes the number of the accepted submission into the lock file."""


@contextmanager
def measuring_lock(contest: Contest, clock: Clock) -> Iterator[Record]:
    """Hold the lock for measuring a model: two at once would slow each other down. Raises RefereeError `bench-busy`."""
    with (contest.folder / MEASURING).open("ab", buffering=0) as file:
        until_s = clock.monotonic_s() + TIMEOUT_S
        while not _try_lock(file, fcntl.LOCK_EX):
            if clock.monotonic_s() >= until_s:
                sentence = "Another model of this contest is being measured; submit this one after it."
                raise RefereeError("bench-busy", sentence)
            clock.wait(threading.Event(), clock.monotonic_s() + RETRY_S)
        yield _recorder(file)


@contextmanager
def handing_in_lock(contest: Contest) -> Iterator[Record]:
    """Hold the lock for accepting a result document, which is brief.

    It detects the same document sent twice at once.
    """
    with (contest.folder / HANDING_IN).open("ab", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield _recorder(file)


def broken_off(contest: Contest) -> frozenset[int]:
    """Return the submissions whose measurement ended without an outcome, for example by a killed referee.

    Such submissions still use up the daily limit.
    """
    # Look twice: a submission may just have been accepted, or just have finished.
    found = _abandoned(contest)
    return found & _abandoned(contest) if found else found


def _abandoned(contest: Contest) -> frozenset[int]:
    found = contest.store.submissions.all()
    standing = (one for one in found if one.withdrawn is None and one.job is None)
    unmeasured = frozenset(one.id for one in standing if one.measurement is None)
    if not unmeasured:
        return unmeasured
    return unmeasured - {
        _in_progress(contest.folder / name) for name in (MEASURING, HANDING_IN)
    }


def _recorder(file: FileIO) -> Record:
    file.truncate(0)

    def record(submission: int) -> None:
        file.write(b"%d" % submission)

    return record


def _in_progress(lock: Path) -> int | None:
    try:
        with lock.open("rb", buffering=0) as file:
            if _try_lock(file, fcntl.LOCK_SH):
                return None  # the number in it is of a submission that has ended
            return int(file.read() or b"0")
    except FileNotFoundError:
        return None


def _try_lock(file: FileIO, kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
