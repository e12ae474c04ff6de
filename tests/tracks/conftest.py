"""The tests of tracks serve contests as those of the referee do."""

from __future__ import annotations

from tests.referee.conftest import (
    build,
    instrument,
    new_tables,
    no_thread_is_left,
    short_lock_timeout,
    small_set,
    store,
    threads,
    until,
    warm_simulators,
)
from tests.referee.web.conftest import day, tiny_set

__all__ = [
    "build",
    "day",
    "instrument",
    "new_tables",
    "no_thread_is_left",
    "short_lock_timeout",
    "small_set",
    "store",
    "threads",
    "tiny_set",
    "until",
    "warm_simulators",
]
