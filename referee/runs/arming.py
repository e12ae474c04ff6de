"""Arming: a team, a free station and its meter, an image order, fixed as a new run."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from functools import partial

from power.errors import MeterError
from referee.auth.client_addresses import admits
from referee.clock import Clock
from referee.config import Station
from referee.contest import Contest, require_place
from referee.errors import RefereeError, StationBusy
from referee.runs.image_order import image_order
from referee.runs.meters import RunMeter, StationMeters
from referee.runs.recorder import note_event
from referee.store.records import Run, RunState

logger = logging.getLogger(__name__)
NOT_YET_STORED = 0


class Turns:
    """Locks by name: one a heat, one a team, one a station, so that a dead meter keeps nobody else waiting."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: dict[str, threading.Lock] = {}

    def of(self, name: str) -> threading.Lock:
        """The lock of that name, always the same."""
        with self._lock:
            return self._turns.setdefault(name, threading.Lock())


class Arming:
    """Makes armed runs. `turns` are RunControl's, which says in what order they are taken."""

    def __init__(self, contest: Contest, clock: Clock, meters: StationMeters, turns: Turns) -> None:
        self._contest = contest
        self._store = contest.store
        self._clock = clock
        self._meters = meters
        self._turns = turns

    def arm(self, team: str, station: Station, heat: str | None = None) -> Run:
        """A new armed run at a free station. The caller holds the team's turn.

        Raises RefereeError `station-busy`, `team-busy`; MeterError.
        """
        with self._turns.of(f"station {station.name}"):
            self._require_free(team, station)
            meter = self._meters.set_up(station)
            try:
                order = partial(
                    image_order,
                    self._contest.secret,
                    images=len(self._contest.test_set.images),
                    shuffle=self._contest.config.shuffle,
                )
                new = self._new_run(team, station, meter, heat)
                run = self._store.arm_run(new, self._clock.utc(), order)
            except BaseException:
                meter.close()
                raise
            self._meters.keep(run, meter)
        identity = meter.identity
        note_event(self._store, self._clock.utc(), run.id, "armed", meter=identity, station=station.name)
        logger.info("run %d of %s is armed at %s", run.id, team, station.name)
        return run

    def armed_run(self, team: str, address: str | None) -> Run:
        """The team's armed run; where the contest arms by itself, a new one if there is none.

        The caller holds the team's turn. Raises RefereeError `not-armed`, `station-busy`, `wrong-address`; MeterError.
        """
        for run in self._store.runs(RunState.ARMED, team=team):
            return run
        if not self._contest.config.auto_arm:
            raise RefereeError("not-armed", f"No run is armed for {team}; ask the operator.", team=team)
        stations = self._contest.config.stations
        admitting = [station for station in stations if admits(station.clients, address)]
        if not admitting:
            require_place(stations[0], address)
        return self._armed_at_first(team, admitting)

    def _armed_at_first(self, team: str, stations: Sequence[Station]) -> Run:
        """A run armed at the first of the stations that is free and whose meter answers."""
        failures: dict[str, MeterError] = {}
        for station in stations:
            if self._occupant(station) is not None:
                continue
            try:
                run = self.arm(team, station)
            except MeterError as error:
                logger.warning("station %s is passed over: %s", station.name, error.sentence)
                failures[station.name] = error
            except RefereeError as error:
                if error.code != "station-busy":
                    raise
            else:
                for name, failure in failures.items():
                    now, reason = self._clock.utc(), failure.sentence
                    note_event(self._store, now, run.id, "station-passed-over", station=name, reason=reason)
                return run
        for failure in failures.values():
            raise failure
        raise StationBusy("Every station is in use; log in again when one is free.")

    def _occupant(self, station: Station) -> Run | None:
        taken = [run for state in (RunState.ARMED, RunState.OPEN) for run in self._store.runs(state)]
        return next((run for run in taken if run.station == station.name), None)

    def _require_free(self, team: str, station: Station) -> None:
        occupant = self._occupant(station)
        if occupant is not None:
            raise StationBusy(
                f"Station {station.name} has run {occupant.id} ({occupant.state}) of {occupant.team}; end it first: "
                f"referee run {_ending(occupant)}",
            )
        for state in (RunState.ARMED, RunState.OPEN):
            for run in self._store.runs(state, team=team):
                raise RefereeError(
                    "team-busy",
                    f"{team} has run {run.id} ({state}) at {run.station}; end it first: referee run {_ending(run)}",
                )

    def _new_run(self, team: str, station: Station, meter: RunMeter, heat: str | None) -> Run:
        test_set = self._contest.test_set
        return Run(
            id=NOT_YET_STORED,
            team=team,
            station=station.name,
            state=RunState.ARMED,
            armed_utc="",
            testset_digest=test_set.digest,
            images=len(test_set.images),
            window_s=float(self._contest.config.window_s),
            setup=meter.setup,
            meter_identity=meter.identity,
            idle_power_w=meter.idle_power_w(self._contest.config.idle_baseline_s),
            heat=heat,
        )


def _ending(run: Run) -> str:
    return f"close {run.id}" if run.state is RunState.OPEN else f'void {run.id} --reason "…"'
