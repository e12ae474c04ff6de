"""Which run needs a station: an armed or open one, or one whose energy may still be in the station's meter."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from referee.errors import RefereeError
from referee.store import Store
from referee.store.records import (
    ENERGY_MISSING,
    METER_START,
    OVER,
    EnergyMissing,
    Run,
    RunState,
)


@dataclass(frozen=True)
class Held:
    """A run that needs its station."""

    run: Run

    @property
    def is_over(self) -> bool:
        """True if only the run's energy is left at the station."""
        return self.run.state in OVER

    @property
    def what(self) -> str:
        """What the run has there, as a sentence without its full stop."""
        run = self.run
        name = f"run {run.id} of {run.team}"
        if self.is_over:
            return f"The meter of station {run.station} may hold the energy of {name}, which is still to be read"
        return f"Station {run.station} has run {run.id} ({run.state}) of {run.team}"

    @property
    def way_out(self) -> str:
        """What frees the station."""
        if self.is_over:
            return "let the referee read it (it tries at each start and before it arms there), or void the run"
        if self.run.state is RunState.ARMED:
            return "let it run, or void it"
        return "wait until it is over"


def held_by(store: Store, station: str) -> Held | None:
    """Return the run that needs a station, or None; a void run's energy need not be kept."""
    runs = store.runs.find(station=station)
    for run in runs:
        if run.state in (RunState.ARMED, RunState.OPEN):
            return Held(run)
    last = runs[-1] if runs else None
    if last is None or last.state is RunState.VOID or last.start_s is None:
        return None
    return Held(last) if may_be_unread(store, last) else None


def stranded(
    store: Store, stations: Collection[str], runs: Iterable[Run]
) -> Iterator[Held]:
    """Yield those of all `runs` that need a station which is not among `stations`."""
    for name in sorted({run.station for run in runs}.difference(stations)):
        held = held_by(store, name)
        if held is not None:
            yield held


def require_stations_kept(store: Store, stations: Collection[str]) -> None:
    """Raise RefereeError `station-needed` if a run needs a station which is not among `stations`."""
    for held in stranded(store, stations, store.runs.find()):
        raise _needed(held)


def require_not_needed(store: Store, station: str) -> None:
    """Raise RefereeError `station-needed` if a run needs the station."""
    held = held_by(store, station)
    if held is not None:
        raise _needed(held)


def _needed(held: Held) -> RefereeError:
    station = held.run.station
    sentence = f"{held.what}. Until that is over, {station!r} keeps its name and stays: {held.way_out}."
    return RefereeError("station-needed", sentence, run=held.run.id, station=station)


def may_be_unread(store: Store, run: Run) -> bool:
    """Return True if the run has ended and the meter may still hold its energy."""
    if run.state not in OVER or run.energy_wh is not None:
        return False
    if not was_started(store, run):
        return False
    events = store.log.of_run(run.id)
    codes = [event["code"] for event in events if event["kind"] == ENERGY_MISSING]
    return not codes or codes[-1] == EnergyMissing.READ_LATER


def was_started(store: Store, run: Run) -> bool:
    """Return True if the run's meter was started: if it integrates, then it does so for this run."""
    return any(event["kind"] == METER_START for event in store.log.of_run(run.id))
