"""Contest folders and simulated meters as in the referee's tests."""

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

__all__ = [
    "build",
    "instrument",
    "new_tables",
    "no_thread_is_left",
    "short_lock_timeout",
    "small_set",
    "store",
    "threads",
    "until",
    "warm_simulators",
]
