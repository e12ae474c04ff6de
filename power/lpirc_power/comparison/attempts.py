"""The two sides of a comparison: their recordings, and what speaks against comparing them."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from lpirc_power.energy import Budget, budget_of_mean, mean_power_w
from lpirc_power.energy.idle_check import ABOVE_IDLE
from lpirc_power.errors import MeterError
from lpirc_power.measurement_files.any_measurement import Stated, read_any
from lpirc_power.measurement_files.recorded_files import Group, Series
from lpirc_power.recording import NO_DATE
from lpirc_power.report.incomplete import verdict_on
from lpirc_power.report.marked_report import marked
from lpirc_power.report.recording_report import Recorded
from lpirc_power.report.series_report import warm_up_name


@dataclass(frozen=True)
class Attempt:
    """An energy that is compared, with its budget, duration and mean power: of a whole recording, or of a mark in it.

    The mean power is that of the recording's own report, NaN if it is unknown. `of_load` is the budget of all that the
    meter measured meanwhile, idle power included. `stretches` is how often the mark was set.
    """

    recorded: Recorded
    energy_wh: float
    budget: Budget | None
    of_load: Budget | None
    lasted_s: float
    power_w: float
    stretches: int = 1


@dataclass(frozen=True)
class Side:
    """One side of a comparison: its name, the attempts that count, and the files of those that warmed up.

    `left_out` says of each further recording why it does not count.
    """

    name: str
    attempts: tuple[Attempt, ...]
    warm_up: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

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
    def mean_wh(self) -> float:
        """The mean energy."""
        return statistics.fmean(self.energies_wh)

    @property
    def mean_s(self) -> float:
        """The mean duration."""
        return statistics.fmean(one.lasted_s for one in self.attempts)

    @property
    def stretches(self) -> tuple[int, ...]:
        """How often the mark was set: the different numbers, in order."""
        return tuple(sorted({one.stretches for one in self.attempts}))

    @property
    def begins_s(self) -> tuple[float, ...]:
        """When the attempts began, by the wall clock, in seconds."""
        return tuple(one.readings[0].utc.timestamp() for one in self.recordings)


@dataclass(frozen=True)
class Compared:
    """Which energies are compared: those of a mark or of the whole recordings, all of it or what is above idle."""

    mark: str = ""
    is_above_idle: bool = False

    @property
    def words(self) -> str:
        """Say which energies they are; empty for those of the whole recordings."""
        above = " above idle" if self.is_above_idle else ""
        if self.mark:
            return f"those of the mark {self.mark!r}{above}"
        return f"those{above}" if above else ""


WHOLE: Final = Compared()


@dataclass(frozen=True)
class Choice:
    """Which energies are compared, and whether recordings of a part of the work, or that need review, count."""

    compared: Compared = WHOLE
    is_incomplete_taken: bool = False


def side_in_files(
    name: str, paths: Sequence[Path], stated: Stated, choice: Choice
) -> Side:
    """Return the side that is in files: recordings, or series whose attempts that count are taken.

    Raises MeterError: those of `read_any` and of `side_of`, `comparison-group` for several meters in one file.
    """
    measurements = [read_any(path, stated) for path in paths]
    found = [
        one
        for path, each in zip(paths, measurements, strict=True)
        for one in _recordings(path, each)
    ]
    failed = tuple(
        sentence
        for path, each in zip(paths, measurements, strict=True)
        for sentence in _left_out(path, each)
    )
    warm_up = tuple(one.file for one in found if warm_up_name(one))
    counted = [one for one in found if not warm_up_name(one)]
    if not counted:
        files = ", ".join(map(str, paths))
        said = " ".join([f"{files} has no attempt that counts.", *failed])
        raise MeterError("comparison-energy", said)
    side = side_of(name, counted, choice)
    return replace(side, warm_up=warm_up, left_out=(*failed, *side.left_out))


def side_of(name: str, recordings: Sequence[Recorded], choice: Choice) -> Side:
    """Return the side of recordings.

    Those that are not of the whole work or need review do not count unless `choice` takes them; those without an energy
    never do. Raises MeterError `comparison-energy` if an energy is not above 0, or if none counts.
    """
    is_taken = choice.is_incomplete_taken
    verdicts = [verdict_on(one, is_incomplete_taken=is_taken) for one in recordings]
    if not any(one.is_counted for one in verdicts):
        faults = "; ".join(one.fault for one in verdicts)
        raise MeterError(
            "comparison-energy",
            f"{name} has no attempt that counts: {faults}. Record again, or take it all the same with --incomplete "
            "(in Python: incomplete=True).",
        )
    attempts = tuple(
        attempt_of(one, choice.compared)
        for one, verdict in zip(recordings, verdicts, strict=True)
        if verdict.is_counted
    )
    left_out = tuple(one.sentence for one in verdicts if one.fault)
    return Side(name, attempts, left_out=left_out)


def attempt_of(recorded: Recorded, compared: Compared = WHOLE) -> Attempt:
    """Return what is compared of a recording; MeterError `comparison-energy` if it is lacking or not above 0."""
    if recorded.no_energy:
        raise MeterError("comparison-energy", f"{recorded.file}: {recorded.no_energy}")
    if compared.mark:
        attempt = _of_mark(recorded, compared)
    elif compared.is_above_idle:
        attempt = _above_idle(recorded)
    else:
        attempt = _of_all(recorded)
    if not attempt.energy_wh > 0:
        raise MeterError("comparison-energy", _not_above_0(attempt, compared))
    return attempt


def _not_above_0(attempt: Attempt, compared: Compared) -> str:
    recorded = attempt.recorded
    above = " above idle" if compared.is_above_idle else ""
    said = f"{recorded.file} has an energy{above} of {attempt.energy_wh:.6g} Wh; only energies above 0 can be compared."
    failed = [one for one in recorded.checks if one.code == ABOVE_IDLE and not one.ok]
    if compared.is_above_idle and failed and not compared.mark:
        return f"{said} {failed[0].sentence}"
    return said


def _of_all(recorded: Recorded) -> Attempt:
    lasted_s = recorded.measured.elapsed_s
    budget = recorded.budget
    power_w = recorded.power_w
    return Attempt(recorded, recorded.energy_wh, budget, budget, lasted_s, power_w)


def _above_idle(recorded: Recorded) -> Attempt:
    idle = recorded.idle
    energy_wh = recorded.above_idle_wh
    if energy_wh is None or idle is None:
        raise _no_idle(recorded)
    lasted_s = recorded.measured.elapsed_s
    power_w = recorded.power_w - idle.power_w
    budget = recorded.above_idle_budget
    return Attempt(recorded, energy_wh, budget, recorded.budget, lasted_s, power_w)


def _no_idle(recorded: Recorded) -> MeterError:
    return MeterError(
        "comparison-energy",
        f"{recorded.file} has no idle power; record with --idle 30 to compare energies above idle.",
    )


def _of_mark(recorded: Recorded, compared: Compared) -> Attempt:
    mark = compared.mark
    found = {one.name: one for one in marked(recorded)}
    one = found.get(mark)
    if one is None or not one.count:
        names = ", ".join(repr(name) for name, each in found.items() if each.count)
        raise MeterError(
            "comparison-energy",
            f"{recorded.file} has no stretch that is marked {mark!r}; it has {names or 'none'}.",
        )
    energy_wh = one.energy.energy_wh
    lasted_s = one.energy.duration_s
    budget = one.budget
    if compared.is_above_idle:
        budget = one.above_idle
        if budget is None:
            raise _no_idle(recorded)
        energy_wh = budget.energy_wh
    power_w = mean_power_w(energy_wh, lasted_s)
    count = one.count
    return Attempt(recorded, energy_wh, budget, one.budget, lasted_s, power_w, count)


def require_different(first: Side, second: Side, given: Sequence[Path] = ()) -> None:
    """Raise MeterError `comparison-repeated` if one recording is given twice: it would seem to repeat exactly.

    `given` are the files of both sides as they were given.
    """
    seen: dict[tuple[object, ...], str] = {}
    for one in (*first.recordings, *second.recordings):
        if one.file in seen.values():
            raise _repeated(_given_twice(one, given))
        last = one.readings[-1]
        key = (str(one.identity), len(one.readings), last.utc, last.energy_wh)
        if last.utc.year > NO_DATE.year and key in seen:
            raise _repeated(f"{one.file} is the recording that {seen[key]} is")
        seen[key] = one.file


def _given_twice(one: Recorded, given: Sequence[Path]) -> str:
    part = None if one.record is None else one.record.part
    if part is not None and given.count(Path(one.file)) == 1:
        return f"{one.file} is given by itself and as an attempt of {part.whole}"
    return f"{one.file} is given twice"


def _repeated(said: str) -> MeterError:
    return MeterError("comparison-repeated", f"{said}; give each recording once.")


def _left_out(path: Path, found: Recorded | Series | Group) -> list[str]:
    if not isinstance(found, Series):
        return []
    failed = found.left_out
    said = [f"{one.name} of {path} does not count: {one.why}" for one in failed]
    return [*said, f"{path}: {found.shortfall}"] if found.shortfall else said


def _recordings(path: Path, found: Recorded | Series | Group) -> Sequence[Recorded]:
    if isinstance(found, Series):
        return found.recordings
    if isinstance(found, Group):
        names = ", ".join(found.recordings) or "none"
        raise MeterError(
            "comparison-group",
            f"{path} holds several meters ({names}); give the file of one of them.",
        )
    return (found,)
