"""Recordings with their records, written as `meter record` writes them: of any load, meter, command and time."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.energy import Measurement
from lpirc_power.meter import Identity, IntegratorState, Reading, Setup
from lpirc_power.meter_standing import Standing
from lpirc_power.record.document import (
    Ended,
    GroupRecord,
    Mark,
    Member,
    Moment,
    Part,
    Record,
    SeriesRecord,
    Started,
)
from lpirc_power.record.record_file import write_record
from lpirc_power.recording import header_line, row
from lpirc_power.sampling.polling import Idle
from lpirc_power.sampling.sampling_thread import LinkEvent

IDENTITY = Identity("YOKOGAWA", "WT310E", "C1", "F1.03")
SETUP = Setup(150.0, 0.1, 0.1, 0)
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def steady(watts: float) -> Callable[[float], float]:
    """Return a load of constant power."""
    return lambda _: watts


SIX_WATTS = steady(6.0)


@dataclass
class Made:
    """Writes recordings of 10 s at 10 Hz to a folder; what differs is given by field."""

    folder: Path
    load: Callable[[float], float] = SIX_WATTS
    length_s: float = 10.0
    start_s: float = 0.0
    setup: Setup = SETUP
    identity: Identity = IDENTITY
    command: Sequence[str] = ("./detect", "images")
    marks: Sequence[Mark] = ()
    links: Sequence[LinkEvent] = ()
    idle: Idle | None = None
    address: str = "TCPIP::1.2.3.4::INSTR"
    part: Part | None = None
    missing: Callable[[float], bool] = field(default=lambda _: False)
    change: Callable[[Reading], Reading] = field(default=lambda one: one)

    def recording(self, name: str = "run", **different: object) -> Path:
        """Write one recording, and return its CSV file."""
        made = replace(self, **different)  # type: ignore[arg-type]
        return made.write(name)

    def series(
        self, name: str, loads: Sequence[Callable[[float], float]], **different: object
    ) -> Path:
        """Write a series of attempts, a minute apart, and return its record."""
        made = replace(self, **different)  # type: ignore[arg-type]
        names = []
        for number, load in enumerate(loads, start=1):
            start_s = made.start_s + 60.0 * number
            path = made.recording(f"{name}-{number}", load=load, start_s=start_s)
            names.append(path.with_suffix(".json").name)
        path = self.folder / f"{name}.json"
        write_record(path, SeriesRecord("test", (), tuple(names), len(names)))
        return path

    def group(self, name: str, loads: dict[str, Callable[[float], float]]) -> Path:
        """Write recordings of several meters at the same time, and return their record."""
        members = []
        for place, (which, load) in enumerate(loads.items()):
            path = self.recording(f"{name}.{which}", load=load, start_s=0.02 * place)
            members.append(Member(which, path.with_suffix(".json").name))
        path = self.folder / f"{name}.json"
        write_record(path, GroupRecord("test", tuple(members)))
        return path

    def write(self, name: str) -> Path:
        """Write this recording."""
        readings = self._readings()
        last = readings[-1]
        path = self.folder / f"{name}.csv"
        rows = [
            self.change(one)
            for one in readings
            if not self.missing(one.monotonic_s - self.start_s)
        ]
        path.write_text("\n".join([header_line(), *map(row, rows)]) + "\n")
        measured = Measurement(
            integrator_wh=last.energy_wh,
            integrator_s=last.integrator_s,
            start_s=self.start_s,
            end_s=self.start_s + self.length_s,
            setup=self.setup,
            model=self.identity.model,
            limits=limits_of(self.identity.model),
            start_stop_s=0.02,
            standing=Standing.OFFICIAL,
        )
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        ended = Ended(
            measured,
            self._at(last.monotonic_s),
            row(self.change(last)),
            len(rows),
            len(rows),
            digest,
            tuple(self.links),
            0,
            tuple(self.marks),
        )
        started = Started(
            self.identity, Standing.OFFICIAL, self._at(self.start_s), self.idle
        )
        record = Record(
            "0.1.0",
            self.address,
            path.name,
            "host",
            BEGAN,
            self.setup,
            tuple(self.command),
            started,
            ended,
            part=self.part,
        )
        write_record(path.with_suffix(".json"), record)
        return path

    def _readings(self) -> list[Reading]:
        interval_s = self.setup.update_interval_s
        count = round(self.length_s / interval_s)
        readings = []
        energy_wh = 0.0
        for number in range(1, count + 1):
            since_s = number * interval_s
            power_w = self.load(since_s)
            energy_wh += power_w * interval_s / 3600.0
            readings.append(self._reading(since_s, power_w, energy_wh))
        last = readings[-1]
        stopped = replace(
            last,
            monotonic_s=last.monotonic_s + interval_s,
            utc=self._at(last.monotonic_s + interval_s).utc,
            state=IntegratorState.STOP,
        )
        return [*readings, stopped]

    def _reading(self, since_s: float, power_w: float, energy_wh: float) -> Reading:
        at_s = self.start_s + since_s
        return Reading(
            monotonic_s=at_s,
            utc=self._at(at_s).utc,
            voltage_v=120.0,
            current_a=power_w / 120.0,
            apparent_va=power_w,
            power_w=power_w,
            power_factor=1.0,
            energy_wh=energy_wh,
            integrator_s=float(int(since_s + 1e-6)),
            state=IntegratorState.START,
            over_range=False,
            voltage_peak_over=False,
            current_peak_over=False,
            voltage_range_v=150.0,
            current_range_a=self.setup.current_range_a or 0.1,
        )

    @staticmethod
    def _at(monotonic_s: float) -> Moment:
        return Moment(monotonic_s, BEGAN + timedelta(seconds=monotonic_s))
