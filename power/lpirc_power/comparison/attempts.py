"""The two sides of a comparison: their recordings, and what speaks against comparing them."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from lpirc_power.any_measurement import Stated, read_any
from lpirc_power.energy import Budget, budget_of_mean
from lpirc_power.errors import MeterError
from lpirc_power.recorded_files import Group, Series
from lpirc_power.recording import NO_DATE
from lpirc_power.report.marked_report import marked
from lpirc_power.report.recording_report import Recorded

LONGER: Final = 0.02
"""Relative difference of durations above which a difference of energies may be one of time."""
WARM_UP: Final = "warm-up"
"""First word of the names of recordings in a series that do not count."""
FAR_APART_H: Final = 12.0
"""Hours after which a meter may no longer have the errors that it had."""


@dataclass(frozen=True)
class Attempt:
    """An energy that is compared, with its budget and its duration: of a whole recording, or of a mark in it."""

    recorded: Recorded
    energy_wh: float
    budget: Budget | None
    lasted_s: float


@dataclass(frozen=True)
class Side:
    """One side of a comparison: its name, the attempts that count, and the files of those that warmed up."""

    name: str
    attempts: tuple[Attempt, ...]
    warm_up: tuple[str, ...] = ()

    @property
    def recordings(self) -> tuple[Recorded, ...]:
        """The recordings of the attempts."""
        return tuple(one.recorded for one in self.attempts)

    @property
    def energies_wh(self) -> tuple[float, ...]:
        """The energies of the attempts."""
        return tuple(one.energy_wh for one in self.attempts)

    @functools.cached_property
    def budget(self) -> Budget | None:
        """The mean energy with its own budget, as if nothing were compared; None if that of an attempt is missing."""
        budgets = [one.budget for one in self.attempts if one.budget is not None]
        is_whole = bool(budgets) and len(budgets) == len(self.attempts)
        return budget_of_mean(budgets) if is_whole else None

    @property
    def mean_s(self) -> float:
        """The mean duration."""
        return statistics.fmean(one.lasted_s for one in self.attempts)

    @property
    def begins_s(self) -> tuple[float, ...]:
        """When the attempts began, by the wall clock, in seconds."""
        return tuple(one.readings[0].utc.timestamp() for one in self.recordings)


@dataclass(frozen=True)
class Compared:
    """Which energies are compared: those of a mark, or above idle, or of the whole recordings."""

    mark: str = ""
    is_above_idle: bool = False

    @property
    def words(self) -> str:
        """Say which energies they are; empty for those of the whole recordings."""
        if self.is_above_idle:
            return "those above idle"
        return f"those of the mark {self.mark!r}" if self.mark else ""


WHOLE: Final = Compared()


def side_of(
    name: str, paths: Sequence[Path], stated: Stated, compared: Compared = WHOLE
) -> Side:
    """Return the side that is in files: recordings, or series whose attempts that count are taken.

    Raises MeterError: those of `read_any`, `comparison-group` for
    several meters in one file, `comparison-energy` if an energy is lacking or not above 0.
    """
    found = [one for path in paths for one in _recordings(path, stated)]
    counted = [one for one in found if not _is_warm_up(one)]
    warm_up = tuple(one.file for one in found if _is_warm_up(one))
    if not counted:
        names = ", ".join(map(str, paths))
        raise MeterError("comparison-energy", f"{names} has no attempt that counts.")
    attempts = tuple(attempt_of(one, compared) for one in counted)
    return Side(name, attempts, warm_up)


def attempt_of(recorded: Recorded, compared: Compared = WHOLE) -> Attempt:
    """Return what is compared of a recording; MeterError `comparison-energy` if it is lacking or not above 0."""
    if recorded.no_energy:
        raise MeterError("comparison-energy", f"{recorded.file}: {recorded.no_energy}")
    if compared.is_above_idle:
        attempt = _above_idle(recorded)
    elif compared.mark:
        attempt = _of_mark(recorded, compared.mark)
    else:
        attempt = _of_all(recorded)
    if not attempt.energy_wh > 0:
        raise MeterError(
            "comparison-energy",
            f"{recorded.file} has an energy of {attempt.energy_wh:.6g} Wh; only energies above 0 can be compared.",
        )
    return attempt


def _of_all(recorded: Recorded) -> Attempt:
    lasted_s = recorded.measured.elapsed_s
    return Attempt(recorded, recorded.energy_wh, recorded.budget, lasted_s)


def _above_idle(recorded: Recorded) -> Attempt:
    energy_wh = recorded.above_idle_wh
    if energy_wh is None:
        raise MeterError(
            "comparison-energy",
            f"{recorded.file} has no idle power; record with --idle 30 to compare energies above idle.",
        )
    lasted_s = recorded.measured.elapsed_s
    return Attempt(recorded, energy_wh, recorded.above_idle_budget, lasted_s)


def _of_mark(recorded: Recorded, mark: str) -> Attempt:
    found = {one.name: one for one in marked(recorded)}
    one = found.get(mark)
    if one is None or not one.count:
        names = ", ".join(repr(name) for name, each in found.items() if each.count)
        raise MeterError(
            "comparison-energy",
            f"{recorded.file} has no stretch that is marked {mark!r}; it has {names or 'none'}.",
        )
    return Attempt(recorded, one.energy.energy_wh, one.budget, one.energy.duration_s)


def _is_warm_up(recorded: Recorded) -> bool:
    part = recorded.record.part if recorded.record else None
    return part is not None and part.name.startswith(WARM_UP)


def require_different(first: Side, second: Side) -> None:
    """Raise MeterError `comparison-repeated` if one recording is given twice: it would seem to repeat exactly."""
    seen: dict[tuple[object, ...], str] = {}
    for one in (*first.recordings, *second.recordings):
        last = one.readings[-1]
        key = (str(one.identity), len(one.readings), last.utc, last.energy_wh)
        if last.utc.year > NO_DATE.year and key in seen:
            raise MeterError(
                "comparison-repeated",
                f"{one.file} is the recording that {seen[key]} is; give each recording once.",
            )
        if one.file in seen.values():
            raise MeterError(
                "comparison-repeated",
                f"{one.file} is given twice; give each recording once.",
            )
        seen[key] = one.file


def _recordings(path: Path, stated: Stated) -> Sequence[Recorded]:
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
    attempts = (*first.recordings, *second.recordings)
    if not all(one.is_meter_known for one in attempts):
        return False
    meters = {str(one.identity) for one in attempts}
    return len(meters) == 1 and not _settings_that_differ(attempts)


def in_turn(first: Side, second: Side) -> bool:
    """Return True if the attempts of both sides follow each other in turn: A B A B, or A B B A."""
    if len(first.attempts) != len(second.attempts):
        return False
    if any(
        one.readings[0].utc.year <= NO_DATE.year
        for one in (*first.recordings, *second.recordings)
    ):
        return True  # without dates nothing speaks against it
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
        *_review_warnings((*first.recordings, *second.recordings)),
        *_warm_up_warnings((*first.warm_up, *second.warm_up)),
    ]


def _meter_warnings(first: Side, second: Side) -> Iterator[str]:
    attempts = (*first.recordings, *second.recordings)
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
        " ".join(one.record.command)
        for one in side.recordings
        if one.record is not None
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


def _warm_up_warnings(files: Sequence[str]) -> Iterator[str]:
    if files:
        yield f"Left out, since they were recorded to warm up: {_listed(files)}."


def _review_warnings(attempts: Sequence[Recorded]) -> Iterator[str]:
    for one in attempts:
        if one.failed:
            yield f"{one.file} needs review: {', '.join(one.failed)}."


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:4])
    more = len(names) - 4
    return f"{shown} and {more} more" if more > 0 else shown
