"""The tests of tracks serve contests as those of the referee do."""

from __future__ import annotations

from tests.referee.conftest import (
    build,
    instrument,
    new_tables,
    short_lock_timeout,
    small_set,
    store,
    warm_simulators,
)
from tests.referee.web.conftest import day, tiny_set

__all__ = [
    "build",
    "day",
    "instrument",
    "new_tables",
    "short_lock_timeout",
    "small_set",
    "store",
    "tiny_set",
    "warm_simulators",
]
