"""The open runs of this process, shared by requests, closing and the status."""

from __future__ import annotations

import threading
from pathlib import Path

from referee.clock import Clock
from referee.contest import Contest
from referee.errors import ShuttingDown
from referee.runs.open_run import REQUESTS_AT_ONCE, OpenRun, kept_marks
from referee.runs.run_window import Window
from referee.runs.station_meters import RunMeter
from referee.store.records import Run


class LiveRuns:
    """The open runs by number, and the request slots of their teams. The lock is never held for long.

    Requests read `runs` without the lock; only the methods of this class change it.
    """

    def __init__(self, contest: Contest, clock: Clock) -> None:
        self._contest = contest
        self._clock = clock
        self._lock = threading.Lock()
        self.runs: dict[int, OpenRun] = {}
        self._slots: dict[str, threading.BoundedSemaphore] = {}
        self._is_down = False

    def add(self, run: Run, window: Window, meter: RunMeter) -> OpenRun:
        """Add a run whose stored state is open. Raises ShuttingDown after `take_all`."""
        store = self._contest.store
        live = OpenRun(
            run,
            window,
            store.runs.image_order(run.id),
            meter,
            store,
            self._clock,
            self.slots_of(run.team),
            kept_marks(self.marks_path(run), run.images),
            self._is_one_open,
        )
        with self._lock:
            if self._is_down:
                raise ShuttingDown
            self.runs[run.id] = live
        return live

    def of_team(self, team: str) -> OpenRun | None:
        """Return the open run of a team, or None."""
        for live in self.by_number().values():
            if live.run.team == team:
                return live
        return None

    def at_station(self, station: str) -> OpenRun | None:
        """Return the open run at a station, or None."""
        for live in self.by_number().values():
            if live.run.station == station:
                return live
        return None

    def by_number(self) -> dict[int, OpenRun]:
        """Return all open runs by number."""
        with self._lock:
            return dict(self.runs)

    def remove(self, run: int) -> None:
        """Remove a closed run."""
        with self._lock:
            self.runs.pop(run, None)

    def take_all(self) -> list[OpenRun]:
        """Remove and return all open runs, and accept no more, because the server is ending."""
        with self._lock:
            self._is_down = True
            lives = list(self.runs.values())
            self.runs = {}
        return lives

    def slots_of(self, team: str) -> threading.BoundedSemaphore:
        """Return the semaphore that limits how many requests of a team's runs may be in progress."""
        with self._lock:
            slots = self._slots.get(team)
            if slots is None:
                slots = threading.BoundedSemaphore(REQUESTS_AT_ONCE)
                self._slots[team] = slots
            return slots

    def marks_path(self, run: Run) -> Path:
        """Return the file that records which images an open run was served.

        Its name contains more than the run number, which may occur again.
        """
        return self._contest.folder / f"served-{run.id}-{run.nonce}"

    def _is_one_open(self) -> bool:
        return len(self.runs) <= 1
