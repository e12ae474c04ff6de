"""Makes a heat: arms all its runs together, in parallel, or none of them."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from lpirc_power.errors import MeterError
from referee.clock import Clock
from referee.config import Station
from referee.contest import Contest
from referee.errors import RefereeError
from referee.runs.arming import Arming
from referee.runs.heats import require_joinable
from referee.runs.start_checks import StartChecks
from referee.store.acts import Act
from referee.store.records import Heat, Run, RunState

logger = logging.getLogger(__name__)
LARGEST_ROUND = 99
FEWEST_TEAMS = 2


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
    """Makes heats. It holds the lock of the heat while it arms; `void` is `RunControl.void`."""

    def __init__(
        self,
        contest: Contest,
        clock: Clock,
        checks: StartChecks,
        arming: Arming,
        lock_of: Callable[[str], threading.Lock],
        void: Callable[[int, str, Act | None], Run],
    ) -> None:
        self._contest = contest
        self._store = contest.store
        self._clock = clock
        self._checks = checks
        self._arming = arming
        self._lock_of = lock_of
        self._void = void

    def make(
        self,
        planned: PlannedHeat,
        operator: str,
        begin: BeginAct,
    ) -> list[Run]:
        """Arm a run for each team at its station, and store the heat; return the runs.

        If one cannot be armed, those that were armed are void, no heat is stored, and RefereeError `heat-not-made` says
        why. Raises, before anything is armed, `bad-request`, `heat-made`, `heat-started`, `team-unknown`,
        `station-unknown`, `station-busy`, `team-busy`, `attempts-used`, `no-room`, `not-ready`.
        """
        sides = self._sides(planned)
        self._checks.require_sound(self._clock)
        with self._lock_of(f"heat {planned.name}"):
            self._require_new(planned.name)
            for team, station in sides.items():
                self._arming.require_able(team, station, anyway=planned.beyond_attempts)
            armed = self._armed(planned, sides, begin)
            heat = Heat(
                planned.name,
                self._clock.utc().isoformat(),
                operator,
                planned.round,
            )
            teams = list(sides)
            try:
                with begin(
                    "heat", heat=planned.name, teams=teams, round=planned.round
                ) as act:
                    self._store.heats.put(heat, act)
            except RefereeError as error:
                raise self._given_up(
                    planned.name, armed, [error.sentence], begin
                ) from error
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
            self._store.teams.require(team)
            sides[team] = self._contest.station(name)
        if len(sides) < FEWEST_TEAMS:
            sentence = f"Heat {planned.name} has {len(sides)} team; name at least two, each at its own station."
            raise RefereeError("bad-request", sentence)
        return sides

    def _require_new(self, name: str) -> None:
        require_joinable(self._store, name)
        for run in self._store.runs.find(RunState.ARMED, heat=name):
            sentence = (
                f"Heat {name} has run {run.id} of {run.team} armed already; start the heat, void its runs, "
                "or choose another name."
            )
            raise RefereeError("heat-made", sentence)

    def _armed(
        self,
        planned: PlannedHeat,
        sides: Mapping[str, Station],
        begin: BeginAct,
    ) -> list[Run]:
        """Arm all sides, one thread a station. If one fails, void the others and raise RefereeError `heat-not-made`."""

        def arm(team: str, station: Station) -> Run:
            beyond = planned.beyond_attempts
            with (
                self._lock_of(f"team {team}"),
                begin("arm", team=team, heat=planned.name) as act,
            ):
                return self._arming.arm(
                    team,
                    station,
                    planned.name,
                    beyond_attempts=beyond,
                    act=act,
                )

        with ThreadPoolExecutor(len(sides)) as pool:
            arming = {team: pool.submit(arm, team, at) for team, at in sides.items()}
        failed = {
            team: error
            for team, one in arming.items()
            if (error := one.exception()) is not None
        }
        armed = [one.result() for team, one in arming.items() if team not in failed]
        if not failed:
            return armed
        reasons = [
            f"{team} cannot be armed at {sides[team].name}: {_sentence(error)}"
            for team, error in failed.items()
        ]
        given_up = self._given_up(planned.name, armed, reasons, begin)
        for error in failed.values():
            if not isinstance(error, RefereeError | MeterError):
                raise error
        raise given_up

    def _given_up(
        self,
        heat: str,
        armed: Sequence[Run],
        reasons: Sequence[str],
        begin: BeginAct,
    ) -> RefereeError:
        """Void the armed runs, and return the error that says why, and what became of them."""
        why = f"Heat {heat} is not made: {' '.join(reasons)}"
        became = []
        for run in armed:
            try:
                with begin("void", run.id, reason=why) as act:
                    self._void(run.id, why, act)
                became.append(f"Run {run.id} of {run.team}, which was armed, is void.")
            except RefereeError as error:
                became.append(
                    f"Run {run.id} of {run.team} is still armed, void it: {error.sentence}"
                )
        return RefereeError("heat-not-made", " ".join([why, *became]))


def _sentence(error: BaseException) -> str:
    return str(getattr(error, "sentence", error))
