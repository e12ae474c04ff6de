"""One at a time: who measures a model of a contest, and who hands in a result document.

The locks are the system's: it lets go of them if we die. Each turn gives the function that writes into the lock which
submission it is, once that is accepted.
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
ASK_AGAIN_S = 0.01
ASK_FOR_S = 0.2  # who lists the submissions holds the lock for a moment

Tell = Callable[[int], None]


@contextmanager
def measuring_turn(contest: Contest, clock: Clock) -> Iterator[Tell]:
    """Measure one model at a time: two would slow each other down. Raises RefereeError `bench-busy`."""
    with (contest.folder / MEASURING).open("ab", buffering=0) as file:
        until_s = clock.monotonic_s() + ASK_FOR_S
        while not _is_taken(file.fileno(), fcntl.LOCK_EX):
            if clock.monotonic_s() >= until_s:
                raise RefereeError(
                    "bench-busy", "Another model of this contest is being measured; submit this one after it."
                )
            clock.wait(threading.Event(), clock.monotonic_s() + ASK_AGAIN_S)
        file.truncate(0)
        yield lambda submission: _write(file, submission)


@contextmanager
def handing_in_turn(contest: Contest) -> Iterator[Tell]:
    """Take one result document at a time, so that the same one twice at once is told; it takes a moment each."""
    with (contest.folder / HANDING_IN).open("ab", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        yield lambda submission: _write(file, submission)


def broken_off(contest: Contest) -> frozenset[int]:
    """The submissions whose measurement ended without a word, as when the referee was killed, and which still count."""
    # Asked twice: one may just have been accepted, or have ended well.
    found = _left_alone(contest)
    return found & _left_alone(contest) if found else found


def _left_alone(contest: Contest) -> frozenset[int]:
    found = contest.store.submissions()
    unmeasured = frozenset(one.id for one in found if one.measurement is None and one.withdrawn is None)
    if not unmeasured:
        return unmeasured
    return unmeasured - {_being_measured(contest.folder / name) for name in (MEASURING, HANDING_IN)}


def _write(file: FileIO, submission: int) -> None:
    file.write(b"%d" % submission)


def _being_measured(lock: Path) -> int | None:
    try:
        with lock.open("rb") as file:
            if _is_taken(file.fileno(), fcntl.LOCK_SH):
                return None  # what stands in it is of one that has ended
            return int(file.read() or b"0")
    except FileNotFoundError:
        return None


def _is_taken(file: int, kind: int) -> bool:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
