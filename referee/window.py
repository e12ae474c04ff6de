"""The window of a run: a pure function of its start, its length, its end and the moment asked about."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """Where a moment lies in a window."""

    BEFORE = "before"
    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True)
class Window:
    """[start_s, end_s) on the monotonic clock; `closed_s` ends it early (logout, operator)."""

    start_s: float
    length_s: float
    closed_s: float | None = None

    @property
    def deadline_s(self) -> float:
        """The first moment that is too late when nobody closes the run earlier."""
        return self.start_s + self.length_s

    @property
    def end_s(self) -> float:
        """The first moment that is too late."""
        return self.deadline_s if self.closed_s is None else min(self.closed_s, self.deadline_s)


def phase_at(window: Window, now_s: float) -> Phase:
    """The phase at `now_s`; the start belongs to the window, the deadline does not."""
    if now_s < window.start_s:
        return Phase.BEFORE
    return Phase.OPEN if now_s < window.end_s else Phase.CLOSED


def remaining_s(window: Window, now_s: float) -> float:
    """Seconds left at `now_s`, never negative and never more than the window."""
    return min(max(window.end_s - now_s, 0.0), window.length_s)


def elapsed_s(window: Window, now_s: float) -> float:
    """Seconds of the window that have passed at `now_s`; exactly its length at the deadline."""
    if now_s >= window.end_s == window.deadline_s:
        return window.length_s
    return min(max(min(now_s, window.end_s) - window.start_s, 0.0), window.length_s)
