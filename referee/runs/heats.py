"""Heats: runs that one start signal opens together (the head-to-head contests of 2016)."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from referee.clock import Clock
from referee.errors import NotStarted, RefereeError
from referee.runs.meters import RunMeter, StationMeters
from referee.store import Store
from referee.store.records import Run, RunState

READY_S = 5.0  # a team that asked within so long is waiting for the signal
ASK_AGAIN_S = 1
LONGEST_LEAD_S = 1.0  # what a meter may have counted before the common start: the energy of record has it too
LONGEST_NAME = 60


@dataclass(frozen=True)
class StartedMeter:
    """A meter that was confirmed to be integrating at `at_s`."""

    meter: RunMeter
    at_s: float


class StartBoard:
    """Who waits for the start signal, and the signal: a team asks again and again, or waits here between asking."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._signals = 0
        self._asked_s: dict[int, float] = {}
        self._tickets: dict[str, int] = {}

    @property
    def signals(self) -> int:
        """How many signals were given; what `wait` is told, read before asking."""
        return self._signals

    def ask(self, run: int, now_s: float) -> bool:
        """Note that the team of `run` is waiting; tells whether it just came."""
        last_s = self._asked_s.get(run)
        self._asked_s[run] = now_s
        return last_s is None or now_s - last_s > READY_S

    def absent(self, runs: Sequence[Run], now_s: float) -> list[Run]:
        """Those of the runs whose team is not waiting."""
        return [run for run in runs if now_s - self._asked_s.get(run.id, -math.inf) > READY_S]

    def signal(self) -> None:
        """Let everybody who waits ask again."""
        with self._changed:
            self._signals += 1
            self._changed.notify_all()

    def enter(self, team: str) -> int:
        """A ticket to wait with; it is worth nothing any more once the team takes another."""
        with self._changed:
            self._tickets[team] = self._tickets.get(team, 0) + 1
            self._changed.notify_all()
            return self._tickets[team]

    def wait(self, team: str, ticket: int, signals: int) -> bool:
        """Wait for a signal that follows those, at most until it is time to ask again; False for an old ticket."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._signals != signals or self._tickets[team] != ticket, ASK_AGAIN_S
            )
            return self._tickets[team] == ticket


def not_started(run: Run) -> RefereeError:
    """What a team is told that logs in before the signal."""
    return NotStarted(
        f"Run {run.id} starts with the operator's signal for heat {run.heat}; log in again in {ASK_AGAIN_S} s.",
        run=run.id,
        heat=run.heat,
        retry_after_s=ASK_AGAIN_S,
    )


def require_joinable(store: Store, heat: str) -> None:
    """Raise RefereeError `bad-request` or `heat-started` unless a run can still be armed for this heat."""
    if not heat.isprintable() or len(heat) > LONGEST_NAME:
        raise RefereeError(
            "bad-request",
            f"A heat's name is at most {LONGEST_NAME} characters that can be printed, not {heat[:80]!r}.",
        )
    _require_unstarted(store.runs(heat=heat), heat)


def runs_to_start(store: Store, heat: str) -> list[Run]:
    """The armed runs of a heat, which nothing of has been opened.

    Raises RefereeError `heat-unknown`, `heat-started`, `heat-alone`, `heat-uneven`.
    """
    runs = [run for run in store.runs(heat=heat) if run.state is not RunState.VOID]
    if not runs:
        raise RefereeError("heat-unknown", f"No run is armed for heat {heat!r}; see: referee run list")
    _require_unstarted(runs, heat)
    if len(runs) == 1:
        raise RefereeError(
            "heat-alone", f"Heat {heat} has only run {runs[0].id} of {runs[0].team}; arm the others first."
        )
    if len({(run.window_s, run.testset_digest) for run in runs}) > 1:
        raise RefereeError(
            "heat-uneven",
            f"The runs of heat {heat} were armed with different windows or test sets; void them and arm them again.",
        )
    return runs


def start_meters(meters: StationMeters, runs: Sequence[Run], clock: Clock) -> dict[int, StartedMeter]:
    """Start the meters of armed runs at once, by run. If one does not start, none is left started.

    All are asked before any is started: a dead meter costs the others nothing. The caller holds the turns of the
    runs' teams. Raises MeterError, and RefereeError `heat-uneven` when they started too far apart.
    """

    def start(run: Run) -> StartedMeter:
        return StartedMeter(meters.started(run), clock.monotonic_s())

    _each(meters.prepare, runs)
    started: dict[int, StartedMeter] = {}
    failures: list[BaseException] = []
    with ThreadPoolExecutor(len(runs)) as pool:
        for run, future in [(run, pool.submit(start, run)) for run in runs]:
            error = future.exception()
            if error is None:
                started[run.id] = future.result()
            else:
                failures.append(error)
    failures = failures or _too_far_apart(started, clock.monotonic_s())
    if failures:
        undo(meters, runs, started)
        raise failures[0]
    return started


def undo(meters: StationMeters, runs: Sequence[Run], started: dict[int, StartedMeter]) -> None:
    """Stop what was started; the runs stay armed."""
    for run in runs:
        if run.id in started:
            meters.put_back(run, started[run.id].meter)


def _each(action: Callable[[Run], None], runs: Sequence[Run]) -> None:
    with ThreadPoolExecutor(len(runs)) as pool:
        for future in [pool.submit(action, run) for run in runs]:
            future.result()


def _require_unstarted(runs: Sequence[Run], heat: str) -> None:
    for run in runs:
        if run.state not in (RunState.ARMED, RunState.VOID):
            raise RefereeError(
                "heat-started", f"Heat {heat} has started: run {run.id} is {run.state}; choose another name."
            )


def _too_far_apart(started: dict[int, StartedMeter], now_s: float) -> list[BaseException]:
    lead_s = now_s - min(one.at_s for one in started.values())
    if lead_s <= LONGEST_LEAD_S:
        return []
    sentence = (
        f"The meters started {lead_s:.1f} s apart, which would count against those that were quicker; nothing has "
        "opened: give the signal again."
    )
    return [RefereeError("heat-uneven", sentence)]
