"""Time as an argument: what a driver needs to know of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Clocks:
    """A monotonic clock in seconds, an aware wall clock in UTC, and a pause in seconds that may end early."""

    monotonic: Callable[[], float]
    utcnow: Callable[[], datetime]
    pause: Callable[[float], object]
