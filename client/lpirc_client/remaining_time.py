"""Tracks the time left in a run, by this host's clock."""

from __future__ import annotations

import time
from dataclasses import dataclass, field


@dataclass
class Window:
    """The end of the window on this host's monotonic clock, by the referee's latest answer; None before the log-in.

    `answered` is when a connection of the run last got an answer of the referee. `is_silent` means that none has come
    for a while and the user was told.
    """

    deadline: float | None = None
    answered: float = field(default_factory=time.monotonic)
    is_silent: bool = False
