"""The window of a run: pure functions of its start, its length, its end and the current time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from referee.errors import WindowClosed

if TYPE_CHECKING:
    from referee.store.records import Run


class Phase(StrEnum):
    """The phase of a window: before it, open, or over."""

    BEFORE = "before"
    OPEN = "open"
    CLOSED = "closed"


@dataclass(frozen=True)
class Window:
    """A run's window [start_s, end_s) on the monotonic clock; `closed_s` ends it early (log-out, operator)."""

    start_s: float
    length_s: float
    closed_s: float | None = None

    @cached_property  # each request needs it several times
    def deadline_s(self) -> float:
        """The time at which the run ends, unless it is closed earlier."""
        return self.start_s + self.length_s

    @cached_property
    def end_s(self) -> float:
        """The time at which the run ends."""
        return (
            self.deadline_s
            if self.closed_s is None
            else min(self.closed_s, self.deadline_s)
        )


def window_closed(run: int) -> WindowClosed:
    """Return the error that a team gets when its window has ended."""
    return WindowClosed(
        f"Run {run} is closed; nothing more is served or counted.",
        run=run,
    )


def phase_at(window: Window, now_s: float) -> Phase:
    """Return the phase at `now_s`; the start belongs to the window, the deadline does not."""
    if now_s < window.start_s:
        return Phase.BEFORE
    return Phase.OPEN if now_s < window.end_s else Phase.CLOSED


def remaining_s(window: Window, now_s: float) -> float:
    """Return the seconds left at `now_s`, from 0 to the length of the window."""
    return min(max(window.end_s - now_s, 0.0), window.length_s)


def elapsed_s(window: Window, now_s: float) -> float:
    """Return the seconds of the window that have passed at `now_s`; exactly its length at the deadline."""
    if now_s >= window.end_s:
        if window.end_s == window.deadline_s:
            return window.length_s
        now_s = window.end_s
    passed_s = now_s - window.start_s
    return min(passed_s, window.length_s) if passed_s > 0 else 0.0


def elapsed_while_open_s(window: Window, now_s: float) -> float | None:
    """Return the seconds of the window that have passed at `now_s`; None before its start and from its end on."""
    if window.start_s <= now_s < window.end_s:
        return min(now_s - window.start_s, window.length_s)
    return None


@dataclass(frozen=True)
class Reboot:
    """The progress of a window that was opened before the host's last reboot.

    The last stored record was made at `recorded_s` in the window. Since then the wall clock has advanced by
    `by_wall_clock_s`, which is negative if it was set back, and the host has been up for `up_s`.
    """

    recorded_s: float
    by_wall_clock_s: float
    up_s: float


def reboot_of(
    run: Run,
    now_s: float,
    now_utc: datetime,
    boot_id: str | None,
    last: tuple[float, datetime] | None = None,
) -> Reboot | None:
    """Return the reboot since the run's window opened, or None if this boot's monotonic clock still applies.

    `last` is (elapsed_s, UTC) of the last record; `now_s` is the time since the boot.
    """
    if run.start_s is not None and run.boot_id is not None and run.boot_id == boot_id:
        return None
    recorded_s, utc = last or (
        0.0,
        datetime.fromisoformat(run.opened_utc or run.armed_utc),
    )
    # If a boot is not known, the host's uptime may include time before the record.
    up_s = 0.0 if boot_id is None or run.boot_id is None else now_s
    return Reboot(recorded_s, (now_utc - utc).total_seconds(), up_s)


def window_of(run: Run, now_s: float, reboot: Reboot | None) -> Window:
    """Return the stored run's window on the monotonic clock, which now shows `now_s`.

    After a reboot the window is assumed to have advanced by the wall clock's difference or by the uptime, whichever is
    larger. If the run has a stored end, that is the window's end.
    """
    start_s = now_s if run.start_s is None else run.start_s
    if reboot is not None:
        start_s = now_s - reboot.recorded_s - max(reboot.by_wall_clock_s, reboot.up_s)
    ended_s = (
        None
        if run.closed_by is None or run.elapsed_s is None
        else start_s + run.elapsed_s
    )
    return Window(start_s, run.window_s, ended_s)
