"""Clocks of this machine, passed as an argument: the commands read time only through this module."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True)
class Clocks:
    """A monotonic clock in seconds, an aware wall clock in UTC, and a pause in seconds that may end early."""

    monotonic: Callable[[], float]
    utcnow: Callable[[], datetime]
    pause: Callable[[float], object]


def real_clocks() -> Clocks:
    """Return this machine's clocks."""
    return Clocks(time.monotonic, lambda: datetime.now(UTC), time.sleep)
