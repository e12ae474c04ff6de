"""The base of all rules of model tracks: a frozen value with settings that judges runs and ranks entries. Pure.

A new rule is a frozen dataclass that extends `Track`, and an entry point `lpirc.tracks` for each of its instances.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Literal, Self, get_args

from lpirc_testsets.close_names import did_you_mean
from lpirc_testsets.plugins import failure_of
from lpirc_tracks.measured import Measured
from referee.errors import BadTrack, RefereeError

LARGEST_SETTING = 1e6  # in absolute value; larger ones overflow
_ROUNDING = 1e-9  # a sum of times that meets its budget exactly may miss it by this

Task = Literal["detection", "classification"]
Preprocessing = Literal["resize", "central-crop", "central-square"]
AccuracyKind = Literal["coco-ap", "top-1", "mean-iou"]
Ties = Literal["shared", "earlier"]
Runtime = Literal["any", "litert", "onnxruntime"]
CHOICES = {
    "task": get_args(Task),
    "preprocessing": get_args(Preprocessing),
    "accuracy": get_args(AccuracyKind),
    "ties": get_args(Ties),
    "runtime": get_args(Runtime),
}
"""The allowed words by field of a rule."""


@dataclass(frozen=True)
class Verdict:
    """A rule's judgement of one run: `value` is the metric, higher is better, None for a run that is not valid.

    `sentence` explains the value, or why there is none. `figures` are further numbers by name with unit.
    """

    track: str
    value: float | None
    accuracy_percent: float
    latency_ms: float
    sentence: str
    warnings: tuple[str, ...] = ()
    figures: Mapping[str, float] = field(default_factory=dict)

    @property
    def is_valid(self) -> bool:
        """True if the run counts."""
        return self.value is not None


@dataclass(frozen=True)
class Entry:
    """A run to rank: its owner, and the time or number of its submission (lower is earlier)."""

    name: str
    submitted: float
    result: Measured


@dataclass(frozen=True)
class Place:
    """An entry with its verdict and rank; the rank is None for a run that is not valid."""

    rank: int | None
    entry: Entry
    verdict: Verdict


@dataclass(frozen=True)
class Aim:
    """A latency in ms that matters to a rule, and the rule's name for it: "target", "budget"."""

    what: str
    latency_ms: float


@dataclass(frozen=True, kw_only=True)
class Track(ABC):
    """A rule. The fields that a subclass adds are its settings: numbers that a contest may change.

    `title` is the display name, `metric` the name and unit of the value, `columns` are figures that the board shows,
    and `runtime` is the runtime that models must be for. With `is_suite`, a value is a share of a sum over many models,
    and a single model has no rank on a board. With `needs_energy`, a run without an energy is never valid.
    """

    name: str
    title: str
    metric: str
    task: Task
    preprocessing: Preprocessing
    accuracy: AccuracyKind
    ties: Ties = "shared"
    columns: tuple[str, ...] = ()
    threads: int = 1
    runtime: Runtime = "any"
    is_suite: bool = False
    needs_energy: bool = False

    def __post_init__(self) -> None:
        """Raise ValueError if a field has a word that is not allowed."""
        for name, words in CHOICES.items():
            word = getattr(self, name)
            if word not in words:
                raise ValueError(f"{name} = {word!r} must be one of {', '.join(words)}")

    def budget_s(self, images: int) -> float | None:
        """Return the wall-time budget in seconds of a run over that many images; None means unlimited."""
        del images
        return None

    @abstractmethod
    def measure(self, result: Measured) -> Verdict:
        """Judge one run without other entries."""

    def judge(self, result: Measured) -> Verdict:
        """Judge one run by `measure`. Raises BadTrack if that fails or does not return a Verdict."""
        try:
            verdict: object = self.measure(result)
        except RefereeError:
            raise
        except Exception as error:
            words = f"The rule {self.name} failed to judge a run: {failure_of(error)}."
            raise BadTrack(words) from error
        if not isinstance(verdict, Verdict):
            words = f"The rule {self.name} returned {verdict!r:.80} for a run; it must return a Verdict."
            raise BadTrack(words)
        return verdict

    def warnings(self) -> tuple[str, ...]:
        """Return warnings about the settings for the organizer; every verdict contains them as well."""
        return ()

    def aim(self) -> Aim | None:
        """Return the latency to mark in plots, or None if the rule has none."""
        return None

    def accuracy_at(self, latency_ms: float) -> float | None:
        """Return the accuracy in percent that the rule expects at a latency: its frontier, for plots.

        None means undefined.
        """
        del latency_ms
        return None

    def rank(self, entries: Sequence[Entry]) -> tuple[Place, ...]:
        """Rank the entries by value, highest first; invalid ones come last and get no rank.

        Entries with equal values share a rank, or the earlier one ranks higher, depending on `ties`; either way the
        earlier one is listed first. Pass one entry per team if only a team's best counts.
        """
        return self._places(entries, [self.judge(entry.result) for entry in entries])

    def settings(self) -> dict[str, float]:
        """Return the settings by name."""
        return {name: getattr(self, name) for name in self._setting_names()}

    def with_settings(self, changes: Mapping[str, object]) -> Self:
        """Return the same rule with other settings. The setting `base` may be the word "e".

        Raises RefereeError `bad-track-setting` for an unknown name or an invalid value.
        """
        known = self._setting_names()
        for name in changes:
            if name not in known:
                names = ", ".join(known) or "none"
                meant = did_you_mean(name, known)
                raise self._bad_setting(
                    f"unknown setting {name!r}; the settings are {names}.{meant}"
                )
        numbers = {name: self._number(name, value) for name, value in changes.items()}
        changed = replace(self, **numbers)  # type: ignore[arg-type]
        for problem in changed.problems():
            raise self._bad_setting(problem)
        return changed

    def problems(self) -> tuple[str, ...]:
        """Return a sentence for each invalid setting; the published settings have none."""
        return ()

    def over_budget(self, result: Measured) -> str | None:
        """Return a sentence if a run exceeded its budget by more than one inference, else None.

        The images after the budget count as wrong, but which ones they are cannot be known afterwards.
        """
        budget_s = self.budget_s(result.images)
        longest_s = (result.longest_ms or 0.0) / 1000
        if budget_s is None or result.total_s <= (budget_s + longest_s) * (
            1 + _ROUNDING
        ):
            return None
        return (
            f"The run took {result.total_s:.6g} s, its budget for {result.images} images is {budget_s:.6g} s; "
            "measure it again with that budget."
        )

    def verdict(
        self, result: Measured, value: float, sentence: str, **figures: float
    ) -> Verdict:
        """Return the verdict on a valid run."""
        return replace(self.refuse(result, sentence), value=value, figures=figures)

    def refuse(self, result: Measured, sentence: str) -> Verdict:
        """Return the verdict on a run that is not valid."""
        return Verdict(
            self.name,
            None,
            result.accuracy_percent,
            result.latency_ms,
            sentence,
            self.warnings(),
        )

    def _places(
        self, entries: Sequence[Entry], verdicts: Sequence[Verdict]
    ) -> tuple[Place, ...]:
        """Return the entries ranked by their verdicts."""
        places: list[Place] = []
        for number, (entry, verdict) in enumerate(
            sorted(zip(entries, verdicts, strict=True), key=_order), 1
        ):
            rank = None if verdict.value is None else number
            if (
                rank
                and self.ties == "shared"
                and places
                and places[-1].verdict.value == verdict.value
            ):
                rank = places[-1].rank
            places.append(Place(rank, entry, verdict))
        return tuple(places)

    @classmethod
    def _setting_names(cls) -> tuple[str, ...]:
        general = {one.name for one in fields(Track)}
        return tuple(one.name for one in fields(cls) if one.name not in general)

    def _number(self, name: str, value: object) -> float:
        if name == "base" and value == "e":
            return math.e
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._bad_setting(f"{name} = {value!r} must be a number.")
        if not -LARGEST_SETTING <= value <= LARGEST_SETTING:  # false for NaN
            raise self._bad_setting(f"{name} = {value} must lie between -1e6 and 1e6.")
        return float(value)

    def _bad_setting(self, problem: str) -> RefereeError:
        return RefereeError(
            "bad-track-setting", f"Track {self.name}: {problem}", track=self.name
        )


def _order(pair: tuple[Entry, Verdict]) -> tuple[bool, float, float]:
    entry, verdict = pair
    value = verdict.value
    return value is None, 0.0 if value is None else -value, entry.submitted
