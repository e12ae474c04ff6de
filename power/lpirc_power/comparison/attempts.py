"""The two sides of a comparison: their recordings, and what speaks against comparing them."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from lpirc_power.any_measurement import Stated, read_any
from lpirc_power.errors import MeterError
from lpirc_power.recorded_files import Group, Series
from lpirc_power.report.recording_report import Recorded

LONGER: Final = 0.02
"""Relative difference of durations above which a difference of energies may be one of time."""


FAR_APART_H: Final = 12.0
"""Hours after which a meter may no longer have the errors that it had."""


@dataclass(frozen=True)
class Side:
    """One side of a comparison: its name, and the attempts that count."""

    name: str
    attempts: tuple[Recorded, ...]

    @property
    def energies_wh(self) -> tuple[float, ...]:
        """The energies of the attempts."""
        return tuple(one.energy_wh for one in self.attempts)

    @property
    def mean_s(self) -> float:
        """The mean duration."""
        return statistics.fmean(one.measured.elapsed_s for one in self.attempts)

    @property
    def begins_s(self) -> tuple[float, ...]:
        """When the attempts began, by the wall clock, in seconds."""
        return tuple(one.readings[0].utc.timestamp() for one in self.attempts)


def side_of(name: str, paths: Sequence[Path], stated: Stated) -> Side:
    """Return the side that is in files: recordings, or series whose attempts that count are taken.

    Raises MeterError: those of `read_any`, `comparison-group` for several meters in one file, `comparison-energy` if a
    recording has no energy above 0.
    """
    attempts = [one for path in paths for one in _attempts(path, stated)]
    for one in attempts:
        if one.no_energy:
            raise MeterError("comparison-energy", f"{one.file}: {one.no_energy}")
        if not one.energy_wh > 0:
            raise MeterError(
                "comparison-energy",
                f"{one.file} has an energy of {one.energy_wh:.6g} Wh; only energies above 0 can be compared.",
            )
    return Side(name, tuple(attempts))


def _attempts(path: Path, stated: Stated) -> Sequence[Recorded]:
    found = read_any(path, stated)
    if isinstance(found, Series):
        return found.recordings
    if isinstance(found, Group):
        names = ", ".join(found.recordings) or "none"
        raise MeterError(
            "comparison-group",
            f"{path} holds several meters ({names}); give the file of one of them.",
        )
    return (found,)


def is_same_meter(first: Side, second: Side) -> bool:
    """Return True if one known meter with one setup measured every attempt, so that its own errors are the same."""
    attempts = (*first.attempts, *second.attempts)
    if not all(one.is_meter_known for one in attempts):
        return False
    meters = {str(one.identity) for one in attempts}
    return len(meters) == 1 and not _settings_that_differ(attempts)


def in_turn(first: Side, second: Side) -> bool:
    """Return True if the attempts of both sides follow each other in turn: A B A B, or A B B A."""
    if len(first.attempts) != len(second.attempts):
        return False
    begins = sorted(
        [(begin, "A") for begin in first.begins_s]
        + [(begin, "B") for begin in second.begins_s]
    )
    names = "".join(name for _, name in begins)
    pairs = {names[place : place + 2] for place in range(0, len(names), 2)}
    return pairs <= {"AB", "BA"}


def warnings_of(first: Side, second: Side) -> list[str]:
    """Return sentences about what speaks against the comparison."""
    return [
        *_meter_warnings(first, second),
        *_command_warnings(first),
        *_command_warnings(second),
        *_duration_warnings(first, second),
        *_time_warnings(first, second),
        *_review_warnings((*first.attempts, *second.attempts)),
    ]


def _meter_warnings(first: Side, second: Side) -> Iterator[str]:
    attempts = (*first.attempts, *second.attempts)
    if not all(one.is_meter_known for one in attempts):
        files = [one.file for one in attempts if not one.is_meter_known]
        yield (
            f"The meter of {_listed(files)} is unknown, so nothing says that the errors of the meters cancel."
        )
        return
    meters = sorted({str(one.identity) for one in attempts})
    if len(meters) > 1:
        yield f"The meters differ ({'; '.join(meters)}): their errors do not cancel."
    differ = _settings_that_differ(attempts)
    if differ:
        yield f"The setups differ in {', '.join(differ)}: the meter's errors do not cancel."


def _settings_that_differ(attempts: Sequence[Recorded]) -> list[str]:
    setups = [asdict(one.measured.setup) for one in attempts]
    # The timer ends a recording; it changes no reading.
    differ = []
    for name, value in setups[0].items():
        others = [one[name] for one in setups[1:]]
        if name != "integrator_timer_s" and others.count(value) < len(others):
            differ.append(name)
    return differ


def _command_warnings(side: Side) -> Iterator[str]:
    commands = {
        " ".join(one.record.command) for one in side.attempts if one.record is not None
    }
    if len(commands) > 1:
        shown = "; ".join(sorted(command or "no command" for command in commands))
        yield f"The commands of {side.name} differ: {shown}."


def _duration_warnings(first: Side, second: Side) -> Iterator[str]:
    lengths = (first.mean_s, second.mean_s)
    shorter, longer = sorted(lengths)
    if shorter > 0 and longer / shorter - 1 > LONGER:
        yield (
            f"The recordings of {first.name} last {lengths[0]:.3f} s on average, those of {second.name} "
            f"{lengths[1]:.3f} s: the energies hold both power and time."
        )


def _time_warnings(first: Side, second: Side) -> Iterator[str]:
    begins_s = (*first.begins_s, *second.begins_s)
    hours = (max(begins_s) - min(begins_s)) / 3600.0
    if is_same_meter(first, second) and hours > FAR_APART_H:
        yield (
            f"The recordings lie {hours:.0f} h apart: the meter's own errors may have changed in between, and then "
            "they do not cancel."
        )


def _review_warnings(attempts: Sequence[Recorded]) -> Iterator[str]:
    for one in attempts:
        if one.failed:
            yield f"{one.file} needs review: {', '.join(one.failed)}."


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:4])
    more = len(names) - 4
    return f"{shown} and {more} more" if more > 0 else shown
