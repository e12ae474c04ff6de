"""Makes a heat: arms all its runs together, in parallel, or none of them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from typing import Protocol

from lpirc_power.errors import MeterError
from referee.clock import Clock
from referee.config import Station
from referee.contest import Contest
from referee.errors import RefereeError
from referee.runs.arming import Arming, ReadyRun
from referee.runs.heats import require_joinable
from referee.runs.start_checks import StartChecks
from referee.store.acts import Act
from referee.store.heat_table import ArmedSide
from referee.store.records import Heat, Run, RunState

logger = logging.getLogger(__name__)
LARGEST_ROUND = 99
FEWEST_TEAMS = 2
WAY_OUT = "See to that, or choose another team or station; then make the heat again."


@dataclass(frozen=True)
class PlannedHeat:
    """A heat to be made: `teams` has the team by station. `beyond_attempts` arms teams that have used theirs, too."""

    name: str
    teams: Mapping[str, str]
    round: int | None = None
    beyond_attempts: bool = False


class BeginAct(Protocol):
    """Begins an act of the operator: see `EventTable.act`."""

    def __call__(
        self,
        action: str,
        run: int | None = None,
        **detail: object,
    ) -> AbstractContextManager[Act]:
        """Begin the act."""


class HeatMaking:
    """Makes heats. While it arms, it holds the locks of the heat, its teams and its stations."""

    def __init__(
        self,
        contest: Contest,
        clock: Clock,
        checks: StartChecks,
        arming: Arming,
        lock_of: Callable[[str], threading.Lock],
    ) -> None:
        self._contest = contest
        self._store = contest.store
        self._clock = clock
        self._checks = checks
        self._arming = arming
        self._lock_of = lock_of

    def make(
        self,
        planned: PlannedHeat,
        operator: str,
        begin: BeginAct,
    ) -> list[Run]:
        """Arm a run for each team at its station, and store the heat; return the runs.

        The meters are set up first; then one transaction stores the runs and the heat, so a crash leaves all or
        nothing. If one side cannot be armed, nothing is stored, and RefereeError `heat-not-made` says why. Raises,
        before any meter is asked, `bad-request`, `heat-made`, `heat-started`, `team-unknown`, `station-unknown`,
        `station-busy`, `team-busy`, `attempts-used`, `no-room`, `not-ready`.
        """
        sides = self._sides(planned)
        self._checks.require_sound(self._clock)
        with ExitStack() as held:
            held.enter_context(self._lock_of(f"heat {planned.name}"))
            self._require_new(planned.name)
            for team in sorted(sides):
                held.enter_context(self._lock_of(f"team {team}"))
            for name in sorted(one.name for one in sides.values()):
                held.enter_context(self._lock_of(f"station {name}"))
            for team, station in sides.items():
                self._arming.require_able(team, station, anyway=planned.beyond_attempts)
            ready = self._ready(planned, sides)
            try:
                armed = self._stored(planned, ready, operator, begin)
            except BaseException:
                _close(ready)
                raise
            for run, one in zip(armed, ready, strict=True):
                self._arming.keep(run, one)
        logger.info("heat %s is made: %s", planned.name, ", ".join(sides))
        return armed

    def _sides(self, planned: PlannedHeat) -> dict[str, Station]:
        """Return the station of each team."""
        if planned.round is not None and not 1 <= planned.round <= LARGEST_ROUND:
            sentence = (
                f"Round {planned.round} must be a number from 1 to {LARGEST_ROUND}."
            )
            raise RefereeError("bad-request", sentence)
        sides: dict[str, Station] = {}
        for name, team in planned.teams.items():
            if team in sides:
                sentence = f"{team} is named for two stations of heat {planned.name}; name another team for one."
                raise RefereeError("bad-request", sentence)
            self._require_not_swapped(name, team)
            self._store.teams.require(team)
            sides[team] = self._contest.station(name)
        if len(sides) < FEWEST_TEAMS:
            sentence = f"Heat {planned.name} has {len(sides)} team; name at least two, each at its own station."
            raise RefereeError("bad-request", sentence)
        return sides

    def _require_not_swapped(self, station: str, team: str) -> None:
        """Raise RefereeError `bad-request` if a team is given as a station, and a station as that team."""
        stations = [one.name for one in self._contest.config.stations]
        is_swapped = team in stations and station in self._store.teams.all()
        if is_swapped and station not in stations:
            sentence = f"{team!r} is a station, and {station!r} a team: give the team {station} at the station {team}."
            raise RefereeError("bad-request", sentence)

    def _require_new(self, name: str) -> None:
        require_joinable(self._store, name)
        for run in self._store.runs.find(RunState.ARMED, heat=name):
            sentence = (
                f"Heat {name} has run {run.id} of {run.team} armed already; start the heat, void its runs, "
                "or choose another name."
            )
            raise RefereeError("heat-made", sentence)

    def _ready(
        self,
        planned: PlannedHeat,
        sides: Mapping[str, Station],
    ) -> list[ReadyRun]:
        """Set up the meters of all sides, one thread a station. If one fails, raise RefereeError `heat-not-made`."""

        def make_ready(team: str, station: Station) -> ReadyRun:
            beyond = planned.beyond_attempts
            return self._arming.make_ready(
                team, station, planned.name, beyond_attempts=beyond
            )

        with ThreadPoolExecutor(len(sides)) as pool:
            making = {
                team: pool.submit(make_ready, team, at) for team, at in sides.items()
            }
        failed = {
            team: error
            for team, one in making.items()
            if (error := one.exception()) is not None
        }
        ready = [one.result() for team, one in making.items() if team not in failed]
        if not failed:
            return ready
        _close(ready)
        for error in failed.values():
            if not isinstance(error, RefereeError | MeterError):
                raise error
        reasons = " ".join(
            f"{team} cannot be armed at {sides[team].name}: {_sentence(error)}"
            for team, error in failed.items()
        )
        sentence = (
            f"Heat {planned.name} is not made, and no run is armed. {reasons} {WAY_OUT}"
        )
        raise RefereeError("heat-not-made", sentence, teams=list(failed))

    def _stored(
        self,
        planned: PlannedHeat,
        ready: Sequence[ReadyRun],
        operator: str,
        begin: BeginAct,
    ) -> list[Run]:
        """Store the heat and its armed runs in one transaction, with the acts of the operator."""
        now = self._clock.utc()
        name = planned.name
        heat = Heat(name, now.isoformat(), operator, planned.round)
        teams = [one.run.team for one in ready]
        with ExitStack() as acts:
            sides = []
            for one in ready:
                arms = acts.enter_context(begin("arm", team=one.run.team, heat=name))
                sides.append(ArmedSide(one.run, one.order, arms))
            makes = begin("heat", heat=name, teams=teams, round=planned.round)
            return self._store.heats.make(heat, sides, now, acts.enter_context(makes))


def _close(ready: Sequence[ReadyRun]) -> None:
    """Close the meters of runs that are not stored."""
    for one in ready:
        one.meter.sampler.close()


def _sentence(error: BaseException) -> str:
    return str(getattr(error, "sentence", error))
