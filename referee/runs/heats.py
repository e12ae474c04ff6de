"""Heats: runs that open together at one start signal (the head-to-head contests of 2016)."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from referee.clock import Clock
from referee.contest import Contest, require_same_test_set
from referee.errors import NotStarted, RefereeError
from referee.runs.station_meters import RunMeter, StationMeters
from referee.store import Store
from referee.store.records import Run, RunState
from referee.store.who_acted import who_started

READY_S = 5.0  # how long after its last log-in a team counts as waiting for the signal
ASK_AGAIN_S = 1
LONGEST_LEAD_S = (
    1.0  # from a meter's start to the common start; the energy of record includes it
)
LONGEST_NAME = 60
UNADDRESSABLE = (".", "..")


class StartBoard:
    """The teams that wait for the start signal, and the signal. A team polls, or waits here between its requests."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.signals = 0  # how many were given; read it before asking, for `wait`
        self._asked_s: dict[int, float] = {}
        self._tickets: dict[str, int] = {}

    def ask(self, run: int, now_s: float) -> bool:
        """Note that the team of `run` is waiting. Return True if it was not waiting before."""
        last_s = self._asked_s.get(run)
        self._asked_s[run] = now_s
        return last_s is None or now_s - last_s > READY_S

    def absent(self, runs: Sequence[Run], now_s: float) -> list[Run]:
        """Return the runs whose team is not waiting."""
        return [
            run
            for run in runs
            if now_s - self._asked_s.get(run.id, -math.inf) > READY_S
        ]

    def require_all(self, runs: Sequence[Run], now_s: float) -> None:
        """Raise RefereeError `team-absent` unless every run's team is waiting."""
        for run in self.absent(runs, now_s):
            sentence = f"{run.team} has not logged in within the last {READY_S:.0f} s."
            raise RefereeError("team-absent", sentence, run=run.id)

    def signal(self) -> None:
        """Wake all waiting teams, so that they ask again."""
        with self._changed:
            self.signals += 1
            self._changed.notify_all()

    def enter(self, team: str) -> int:
        """Return a ticket for `wait`; it expires when the team takes another one."""
        with self._changed:
            self._tickets[team] = self._tickets.get(team, 0) + 1
            self._changed.notify_all()
            return self._tickets[team]

    def wait(self, team: str, ticket: int, signals: int) -> bool:
        """Wait at most ASK_AGAIN_S until more than `signals` signals were given.

        Return False if the ticket has expired.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self.signals != signals or self._tickets[team] != ticket,
                ASK_AGAIN_S,
            )
            return self._tickets[team] == ticket


def not_started(run: Run) -> RefereeError:
    """Return the error for a team that logs in before the signal."""
    return NotStarted(
        f"Run {run.id} starts when the operator starts heat {run.heat}. That has not happened yet; log in again in "
        f"{ASK_AGAIN_S} s.",
        run=run.id,
        heat=run.heat,
        retry_after_s=ASK_AGAIN_S,
    )


def require_joinable(store: Store, heat: str) -> None:
    """Raise RefereeError `bad-request` or `heat-started` unless a run can still be armed for this heat."""
    if not heat.isprintable() or len(heat) > LONGEST_NAME:
        sentence = f"A heat's name has at most {LONGEST_NAME} printable characters, not {heat[:80]!r}."
        raise RefereeError("bad-request", sentence)
    parts = heat.split("/")
    if heat.startswith("/") or any(one in UNADDRESSABLE for one in parts):
        sentence = f"A heat cannot be called {heat!r}, since its page would have no address of its own."
        raise RefereeError("bad-request", sentence)
    _require_unstarted(store, store.runs.find(heat=heat), heat)


def runs_to_start(contest: Contest, heat: str) -> list[Run]:
    """Return the armed runs of a heat that has not started.

    Raises RefereeError `heat-unknown`, `heat-started`, `heat-alone`, `heat-uneven`, `testset-changed`.
    """
    runs = [
        run
        for run in contest.store.runs.find(heat=heat)
        if run.state is not RunState.VOID
    ]
    if not runs:
        raise RefereeError(
            "heat-unknown",
            f"No run is armed for heat {heat!r}; see: referee run list",
        )
    _require_unstarted(contest.store, runs, heat)
    if len(runs) == 1:
        sentence = f"Heat {heat} has only run {runs[0].id} of {runs[0].team}; arm the others first."
        raise RefereeError("heat-alone", sentence)
    if len({(run.window_s, run.testset_digest) for run in runs}) > 1:
        sentence = f"The runs of heat {heat} have different windows or test sets; void them and arm them again."
        raise RefereeError("heat-uneven", sentence)
    require_same_test_set(contest, runs[0])
    return runs


def start_meters(
    meters: StationMeters,
    runs: Sequence[Run],
    clock: Clock,
) -> dict[int, RunMeter]:
    """Start the meters of armed runs together, and return them by run. If one does not start, all are stopped again.

    All meters are asked before any is started, so a dead meter costs the other runs nothing. The caller holds the locks
    of the runs' teams. Raises MeterError, and RefereeError `heat-uneven` if they started too far apart.
    """
    started_s: list[float] = []

    def start(run: Run) -> RunMeter:
        meter = meters.started(run)
        started_s.append(clock.monotonic_s())
        return meter

    with ThreadPoolExecutor(len(runs)) as pool:
        for asked in [pool.submit(meters.prepare, run) for run in runs]:
            asked.result()
        starting = {run.id: pool.submit(start, run) for run in runs}
    failures = [
        error for one in starting.values() if (error := one.exception()) is not None
    ]
    started = {
        run: one.result() for run, one in starting.items() if one.exception() is None
    }
    if (
        not failures
        and (lead_s := clock.monotonic_s() - min(started_s)) > LONGEST_LEAD_S
    ):
        sentence = f"The meters started {lead_s:.1f} s apart; no run has opened: give the start signal again."
        failures = [RefereeError("heat-uneven", sentence)]
    if failures:
        meters.put_back(started)
        raise failures[0]
    return started


def _require_unstarted(store: Store, runs: Sequence[Run], heat: str) -> None:
    for run in runs:
        if run.state not in (RunState.ARMED, RunState.VOID):
            by = who_started(store.database.rows, heat)
            sentence = (
                f"Heat {heat} has been started by {by}: run {run.id} is {run.state}."
            )
            raise RefereeError(
                "heat-started", f"{sentence} For another heat choose another name."
            )
