"""What a contest's rule is: a pure function from the figures of a run to its score, or to the reason why it has none.

A rule is an immutable value. Its fields are its settings, with their units in their names; the class says what holds
for every setting of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import ClassVar, Literal

LARGEST_SETTING = (
    1e6  # Wh, W, s or images/s: as large as any other figure of contest.toml
)
NO_ENERGY = "the run has no energy above 0 Wh"
NO_TRUTH = "its test set has no ground truth, so it has no accuracy"
NO_TIME = "the length of the run is not known"
ACCURACY = "mAP"
"""The accuracy in the unit of a rule, whatever the task calls its own."""
Quantity = Literal["score", "map", "energy"]


class RuleError(ValueError):
    """A rule cannot be made from its name and settings. `key` is the setting, or `name`; the text is a sentence."""

    def __init__(self, key: str, sentence: str) -> None:
        super().__init__(sentence)
        self.key = key


@dataclass(frozen=True, kw_only=True)
class Facts:
    """The figures of a run that a rule may use.

    `accuracy` is the mAP by the contest's metric, or the figure of its task, 0 to 1; None without ground truth.
    `duration_s` is from the first log-in to the end of the run.
    `idle_power_w` is the mean power of the idle board when the run was armed. `images` is how many images are answered:
    those with at least one row that counts; `images_of_run` is how many it was to answer. `energy_limit` is the largest
    possible error of the energy, relative to it. None: not known, or not measured.
    """

    accuracy: float | None
    energy_wh: float | None
    duration_s: float | None = None
    idle_power_w: float | None = None
    images: int | None = None
    energy_limit: float | None = None
    images_of_run: int | None = None

    @property
    def mean_power_w(self) -> float | None:
        """The energy of the run divided by its length; None if one of them is not known."""
        if not is_above_0(self.energy_wh) or not is_above_0(self.duration_s):
            return None
        power_w = _known(self.energy_wh) * 3600 / _known(self.duration_s)
        return power_w if math.isfinite(power_w) else None

    @property
    def image_s(self) -> float | None:
        """The length of the run divided by its answered images; None without an answered image."""
        if not is_above_0(self.duration_s) or not self.images:
            return None
        return _known(self.duration_s) / self.images

    @property
    def images_per_s(self) -> float | None:
        """The answered images divided by the length of the run; None if one of them is not known."""
        if self.images is None or not is_above_0(self.duration_s):
            return None
        return self.images / _known(self.duration_s)


@dataclass(frozen=True)
class Outcome:
    """The score of a run by a rule, and `why_not`: a clause that says why it is not ranked, None if it may be.

    A run outside a limit of the rule has both, a run of which the rule can make no score has no value. `how` is a
    sentence on what the score is made of, where that is more than the rule says.
    """

    value: float | None
    why_not: str | None = None
    how: str | None = None


@dataclass(frozen=True)
class ContestRule:
    """A rule: a subclass gives the values of the class, the sentences and `_outcome`.

    `name` is its name in contest.toml. `source` says where the rule comes from. `figure` names its score to people,
    `unit` is the unit of the score. `quantity` is what decides how certain an order is; None if that is not known for
    scores by this rule. `needs_images` is True if the number of answered images matters. `takes_idle` is True if the
    power of the idle board is part of the score.
    """

    name: ClassVar[str]
    source: ClassVar[str]
    figure: ClassVar[str]
    unit: ClassVar[str]
    higher_is_better: ClassVar[bool] = True
    quantity: ClassVar[Quantity | None] = None
    takes_idle: ClassVar[bool] = False

    @property
    def sentence(self) -> str:
        """What the rule ranks by, as people read it: one or two sentences."""
        raise NotImplementedError

    @property
    def needs_images(self) -> bool:
        """True if the outcome depends on how many images are answered."""
        return False

    def outcome(self, facts: Facts) -> Outcome:
        """Return the score of a run with these figures, or why it has none or may not be ranked. Raises nothing."""
        if facts.accuracy is None:
            return Outcome(None, NO_TRUTH)
        if not math.isfinite(facts.accuracy):
            return Outcome(None, f"its accuracy {facts.accuracy} is not a number")
        if not is_above_0(facts.energy_wh):
            return Outcome(None, NO_ENERGY)
        found = self._outcome(facts, facts.accuracy, _known(facts.energy_wh))
        if found.value is None or math.isfinite(found.value):
            return found
        return Outcome(None, f"its figures give the score {found.value}")

    def _outcome(self, facts: Facts, accuracy: float, energy_wh: float) -> Outcome:
        raise NotImplementedError

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield each wrong setting: its key, and a sentence about it."""
        for name, value in self.settings.items():
            if not 0 < value <= LARGEST_SETTING:  # false for NaN
                yield name, f"{name} = {value!r} must be a number above 0."
            elif name.endswith("accuracy") and value > 1:
                yield name, f"{name} = {value:g} must be an accuracy, at most 1."

    @property
    def settings(self) -> dict[str, float]:
        """The settings that have a value, by name."""
        named = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in named.items() if value is not None}

    @property
    def stated(self) -> dict[str, object]:
        """Name and settings, as a run's rules have them."""
        return {"name": self.name, **self.settings}

    @property
    def signed(self) -> str:
        """Name and settings in one word, as the signature of a judgement has them."""
        told = [f"{name}={value!r}" for name, value in sorted(self.settings.items())]
        return ",".join([self.name, *told])

    @property
    def words(self) -> dict[str, object]:
        """What pages and documents say of the rule."""
        return {
            "name": self.name,
            "sentence": self.sentence,
            "figure": self.figure,
            "unit": self.unit,
            "higher_is_better": self.higher_is_better,
            "order": self.order,
            "source": self.source,
            "settings": self.settings,
        }

    @property
    def order(self) -> str:
        """Which of two scores is better, in words."""
        return "more is better" if self.higher_is_better else "less is better"

    @property
    def is_of_accuracy(self) -> bool:
        """True if twice the accuracy is twice the score."""
        return ACCURACY in self.unit

    def unit_of(self, accuracy: str) -> str:
        """Return the unit of a score whose accuracy has this name, such as mAP."""
        return self.unit.replace(ACCURACY, accuracy)

    def merit(self, value: float) -> float:
        """Return a score as a number of which the higher one is better."""
        return value if self.higher_is_better else -value


def is_above_0(value: float | None) -> bool:
    """Return True for a finite number above 0."""
    return value is not None and math.isfinite(value) and value > 0


def figure(value: float) -> str:
    """Return a figure of a rule as its sentences show it."""
    return f"{value:g}"


def apart(value: float, limit: float) -> tuple[str, str]:
    """Return two different numbers as texts that differ, with no more digits than that takes."""
    for digits in range(4, 18):
        shown = f"{value:.{digits}g}", f"{limit:.{digits}g}"
        if shown[0] != shown[1]:
            return shown
    return repr(value), repr(limit)


def over(what: str, value: float, limit: float, unit: str) -> str | None:
    """Return the clause of a figure above its limit; None if it is not: a limit that is met exactly is met."""
    if value <= limit:
        return None
    shown, most = apart(value, limit)
    return f"{what} {shown}{unit}, more than the limit of {most}{unit}"


def below_floor(accuracy: float, floor: float) -> str | None:
    """Return the clause of an accuracy below its floor, with no more digits than are published of one; else None."""
    if accuracy >= floor:
        return None
    shown = math.floor(accuracy * 1e5) / 1e5  # rounded, it could be the floor
    return f"its accuracy {shown:.5f} is below the floor of {floor:g}"


def _known(value: float | None) -> float:
    if value is None:
        raise ValueError("it was said to be known")
    return value
