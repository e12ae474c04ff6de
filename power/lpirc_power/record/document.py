"""What the record of a recording holds: of one recording, of a series of them, or of a group of meters."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from lpirc_power.energy import Measurement
from lpirc_power.meter import Identity, Setup
from lpirc_power.meter_standing import Standing
from lpirc_power.sampling.polling import Idle
from lpirc_power.sampling.sampling_thread import LinkEvent

FORMAT: Final = 1
"""Version of the format. A reader ignores fields that it does not know, and refuses a higher version."""


@dataclass(frozen=True)
class Moment:
    """A time on the recording host's monotonic clock and on its wall clock."""

    monotonic_s: float
    utc: datetime


@dataclass(frozen=True)
class Mark:
    """A stretch of a recording that the workload named, on the recording host's monotonic clock.

    An instant has `end_s` equal to `begin_s`. `end_s` is None if the stretch was never closed. `doubt_s` is how far
    both times may be from the truth, for a mark from a machine with another clock.
    """

    name: str
    begin_s: float
    end_s: float | None
    doubt_s: float = 0.0


@dataclass(frozen=True)
class Part:
    """The place of a recording in a series or a group: the record of the whole, and the recording's name in it.

    `wanted` is that of the series; 0 in a group, and where an earlier version did not say it.
    """

    kind: Literal["series", "group"]
    whole: str
    name: str
    wanted: int = 0


@dataclass(frozen=True)
class Started:
    """What is known when the integrator runs: the meter, why it counts, the beginning, and the idle power."""

    identity: Identity
    standing: Standing
    start: Moment
    idle: Idle | None


@dataclass(frozen=True)
class Ended:
    """What is known at the end.

    `row` is the reading with the energy, as a row of the CSV file. `rows` and `sha256` belong to the CSV file;
    `readings` counts the readings that were taken, more than `rows` if the disk was full. `exit_code` is COMMAND's.
    `marks_lost` counts marks that could not be kept. `damage` says what something else did to the CSV file meanwhile,
    empty if nothing. `interrupted` is True if a signal or an error ended the recording before its time or its command.
    """

    measured: Measurement
    end: Moment
    row: str
    readings: int
    rows: int
    sha256: str
    links: tuple[LinkEvent, ...] = ()
    exit_code: int = 0
    marks: tuple[Mark, ...] = ()
    marks_lost: int = 0
    damage: str = ""
    interrupted: bool = False


@dataclass(frozen=True)
class Record:
    """The record of one recording. `started` is None until the integrator runs, `ended` until the energy is read.

    `file` is the name of the CSV file in the same folder. `warm_up_s` is the pause between arming and start,
    `cool_down_s` that since the attempt before. `marks` are those so far, of a recording that has not ended.
    `budget_version` is that of the rules by which the program computed uncertainties; 1 where it did not say it.
    """

    program: str
    address: str
    file: str
    host: str
    written: datetime
    setup: Setup
    command: tuple[str, ...] = ()
    started: Started | None = None
    ended: Ended | None = None
    warm_up_s: float = 0.0
    cool_down_s: float = 0.0
    part: Part | None = None
    marks: tuple[Mark, ...] = ()
    budget_version: int = 1
    kind: Literal["recording"] = "recording"
    format: int = FORMAT


@dataclass(frozen=True)
class LeftOut:
    """An attempt of a series that does not count: its name, such as "attempt 2", and why, as a sentence.

    `record` is the name of its recording's record; empty if it has no recording.
    """

    name: str
    why: str
    record: str = ""


@dataclass(frozen=True)
class SeriesRecord:
    """The record of a series: the names of its recordings' records, in order, those that do not count first.

    `wanted` is the number of attempts, or the largest number if the series ends when it is `stable` (a part of 1).
    `stopped` says why a series ended early; empty if it did not. `left_out` names the attempts that failed and do not
    count, though the series went on.
    """

    program: str
    warm_up: tuple[str, ...]
    recordings: tuple[str, ...]
    wanted: int
    stable: float | None = None
    cool_down_s: float = 0.0
    stopped: str = ""
    command: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    kind: Literal["series"] = "series"
    format: int = FORMAT


@dataclass(frozen=True)
class Member:
    """A meter of a group: its name and its recording's record; `failed` says why it has no energy, empty if it has."""

    name: str
    record: str
    failed: str = ""


@dataclass(frozen=True)
class GroupRecord:
    """The record of several meters that recorded the same run on one clock; the first is the supply's side."""

    program: str
    members: tuple[Member, ...]
    command: tuple[str, ...] = ()
    kind: Literal["group"] = "group"
    format: int = FORMAT


AnyRecord = Record | SeriesRecord | GroupRecord
