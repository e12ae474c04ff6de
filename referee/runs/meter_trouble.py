"""Meters that did not answer when a run needed them, for the console."""

from __future__ import annotations

from dataclasses import dataclass

from lpirc_power.errors import MeterError
from referee.store.records import Run


@dataclass(frozen=True)
class MeterTrouble:
    """The failure by which a meter did not start for an armed run."""

    run: Run
    error: MeterError

    @property
    def sentence(self) -> str:
        """What an operator is told of the meter, and what to do."""
        number = self.run.id
        next_start = f"the next log-in of {self.run.team}"
        if self.run.heat is not None:
            next_start = f"the next start of heat {self.run.heat}"
        return (
            f"It did not start for run {number}, which stays armed: {self.error.sentence} Once the meter answers, "
            f"{next_start} starts it; otherwise void run {number} and arm it at another station."
        )


class MeterTroubles:
    """The newest trouble of each station, until its meter starts or its run is given up."""

    def __init__(self) -> None:
        self._by_station: dict[str, MeterTrouble] = {}

    def note(self, run: Run, error: MeterError) -> None:
        """Keep why the meter of an armed run did not start."""
        self._by_station[run.station] = MeterTrouble(run, error)

    def of(self, station: str) -> MeterTrouble | None:
        """Return the trouble of a station's meter, or None."""
        return self._by_station.get(station)

    def end(self, run: Run) -> None:
        """Forget the trouble that a run had."""
        found = self._by_station.get(run.station)
        if found is not None and found.run.id == run.id:
            self._by_station.pop(run.station, None)


def after_the_run(error: MeterError) -> str:
    """Return what an operator is told of a free station whose meter did not answer at the end of its last run."""
    again = "It is asked again when a run is armed; 'Probe' in Settings, Stations asks it now."
    return f"It did not answer at the end of its last run: {error.sentence} {again}"
