"""Checks one upload in its own process, with limits on time and memory, and returns the findings."""

from __future__ import annotations

import math
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from lpirc_tracks.submissions.results_files import ResultsSet, check_file
from referee.errors import RefereeError

LIMIT_S = 60
"""Limit of processor time: the largest CSV takes 12 s."""
MEMORY_BYTES = 3 << 30
"""Limit on the data memory of the process: the largest CSV takes 1.2 GB."""
FAULTS_OF_FILE = frozenset(
    {"bad-detections", "unreadable-file", "too-large", "model-refused"}
)


class _OutOfTimeError(Exception):
    """The check has used up its processor time."""


@dataclass(frozen=True)
class Refused:
    """The refusal of an upload: `code`, the sentence as `detail`, and facts."""

    problem: dict[str, Any]

    @classmethod
    def by(cls, error: RefereeError) -> Refused:
        """Return the refusal for an error."""
        return cls({"code": error.code, "detail": error.sentence} | error.facts)


def check_results(
    path: Path, of: ResultsSet, columns: Path
) -> dict[str, str] | Refused:
    """Return the findings of `check_file` within the limits."""
    try:
        with _limited():
            return check_file(path, of, columns)
    except RefereeError as error:
        if error.code not in FAULTS_OF_FILE:
            raise
        return Refused.by(error)
    except _OutOfTimeError:
        return _given_up(f"it took more than {LIMIT_S} s of processor time")
    except MemoryError:
        return _given_up(f"it took more than {MEMORY_BYTES >> 30} GiB of memory")


def check_other(
    check: Callable[..., dict[str, str]], *args: object
) -> dict[str, str] | Refused:
    """Return the findings of another check, which sets limits of its own."""
    try:
        return check(*args)
    except RefereeError as error:
        if error.code not in FAULTS_OF_FILE:
            raise
        return Refused.by(error)


def _given_up(why: str) -> Refused:
    sentence = f"The check of this file was given up: {why}. Send a smaller file; if the file is JSON, send CSV."
    return Refused({"code": "check-failed", "detail": sentence})


@contextmanager
def _limited() -> Iterator[None]:
    """Limit the processor time and the data of this process."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    soft = math.ceil(usage.ru_utime + usage.ru_stime) + LIMIT_S
    former = {
        which: resource.getrlimit(which)
        for which in (resource.RLIMIT_CPU, resource.RLIMIT_DATA)
    }
    handler = signal.signal(signal.SIGXCPU, _out_of_time)
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, former[resource.RLIMIT_CPU][1]))
        resource.setrlimit(
            resource.RLIMIT_DATA, (MEMORY_BYTES, former[resource.RLIMIT_DATA][1])
        )
        yield
    finally:
        for which, limits in former.items():
            resource.setrlimit(which, limits)
        signal.signal(signal.SIGXCPU, handler)


def _out_of_time(_signal: int, _frame: FrameType | None) -> NoReturn:
    raise _OutOfTimeError
