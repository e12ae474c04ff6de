"""All rules that a contest can have, each with its source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import ClassVar

from lpirc_testsets.close_names import did_you_mean
from referee.contest_rules.floors_then_energy import FloorsThenEnergy
from referee.contest_rules.rule import (
    NO_TIME,
    ContestRule,
    Facts,
    Outcome,
    Quantity,
    RuleError,
    below_floor,
    figure,
    over,
)

NO_IMAGE = "no image is answered, so the run has no time per image"
NO_IDLE = "the power of its idle board was not measured when the run was armed"


@dataclass(frozen=True)
class AccuracyPerWh(ContestRule):
    """Accuracy divided by energy."""

    name: ClassVar[str] = "accuracy-per-wh"
    source: ClassVar[str] = (
        'LPIRC 2015 to 2019: Gauen et al., "Three Years of Low-Power Image Recognition Challenge", DATE 2018'
    )
    figure: ClassVar[str] = "accuracy over energy (mAP per watt-hour)"
    unit: ClassVar[str] = "mAP/Wh"
    quantity: ClassVar[Quantity | None] = "score"

    @property
    def sentence(self) -> str:
        """What the rule ranks by."""
        return "The score is the mAP divided by the energy in Wh."

    def _outcome(self, facts: Facts, accuracy: float, energy_wh: float) -> Outcome:
        return Outcome(accuracy / energy_wh)


@dataclass(frozen=True)
class AccuracyWithinLimit(ContestRule):
    """Accuracy, of runs within each limit that is set: energy, mean power, length of the run, time per image.

    The mean power is the energy of record divided by the length of the run. The time per image is the length of the
    run divided by its answered images, so it contains log-in, network and waiting.
    """

    energy_limit_wh: float | None = None
    power_limit_w: float | None = None
    time_limit_s: float | None = None
    image_limit_s: float | None = None

    name: ClassVar[str] = "accuracy-within-limit"
    source: ClassVar[str] = (
        "time per image: LPIRC 2018 track 1, 30 ms an image; energy, power and time: limits of the same form"
    )
    figure: ClassVar[str] = "accuracy (mAP) within the limit"
    unit: ClassVar[str] = "mAP"
    quantity: ClassVar[Quantity | None] = "map"

    @property
    def sentence(self) -> str:
        """What the rule ranks by."""
        limits = {
            "at most {} Wh": self.energy_limit_wh,
            "a mean power of at most {} W": self.power_limit_w,
            "a run of at most {} s": self.time_limit_s,
            "at most {} s per answered image": self.image_limit_s,
        }
        told = [
            words.format(figure(value))
            for words, value in limits.items()
            if value is not None
        ]
        return f"The score is the accuracy, of runs with {' and '.join(told)}."

    @property
    def needs_images(self) -> bool:
        """True if there is a limit on the time per image."""
        return self.image_limit_s is not None

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield the wrong settings, and a rule without a limit."""
        yield from super().problems()
        if not self.settings:
            names = ", ".join(one.name for one in fields(self))
            yield "name", f'name = "{self.name}" needs a limit: set one of {names}.'

    def _outcome(self, facts: Facts, accuracy: float, energy_wh: float) -> Outcome:
        reasons = [one for one in self._reasons(facts, energy_wh) if one is not None]
        return Outcome(accuracy, "; ".join(reasons) or None)

    def _reasons(self, facts: Facts, energy_wh: float) -> Iterator[str | None]:
        if self.energy_limit_wh is not None:
            yield over("the run used", energy_wh, self.energy_limit_wh, " Wh")
        if self.power_limit_w is not None:
            power_w = facts.mean_power_w
            what = "the run had a mean power of"
            yield _over(what, power_w, self.power_limit_w, " W", NO_TIME)
        if self.time_limit_s is not None:
            time_s = facts.duration_s
            yield _over("the run took", time_s, self.time_limit_s, " s", NO_TIME)
        if self.image_limit_s is not None:
            unknown = NO_TIME if facts.duration_s is None else NO_IMAGE
            what = "the run took, per answered image,"
            yield _over(what, facts.image_s, self.image_limit_s, " s", unknown)


@dataclass(frozen=True)
class LeastEnergy(ContestRule):
    """Energy, of runs with at least an accuracy."""

    least_accuracy: float | None = None

    name: ClassVar[str] = "least-energy"
    source: ClassVar[str] = "the reverse of a limit on energy; of no published contest"
    figure: ClassVar[str] = "energy (Wh) above the accuracy floor"
    unit: ClassVar[str] = "Wh"
    higher_is_better: ClassVar[bool] = False
    quantity: ClassVar[Quantity | None] = "energy"

    @property
    def sentence(self) -> str:
        """What the rule ranks by."""
        floor = figure(self.least_accuracy or 0.0)
        return f"The score is the energy in Wh, less is better, of runs with an accuracy of at least {floor}."

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield the wrong settings, and a rule without its floor."""
        yield from super().problems()
        if self.least_accuracy is None:
            words = "else the team that logs out at once wins"
            yield "name", f'name = "{self.name}" needs least_accuracy, {words}.'

    def _outcome(self, facts: Facts, accuracy: float, energy_wh: float) -> Outcome:
        floor = self.least_accuracy or 0.0
        return Outcome(energy_wh, below_floor(accuracy, floor))


@dataclass(frozen=True)
class AccuracyPerExcessWh(ContestRule):
    """Accuracy divided by the energy above that of the idle board for the same time.

    No score without a measured idle power, nor if the run used no more than the idle board would have used, or more by
    less than the energy may be wrong: a run that logs out at once would have any score.
    """

    name: ClassVar[str] = "accuracy-per-excess-wh"
    source: ClassVar[str] = (
        "LPCVC 2020 and 2021: accuracy / (energy - idle power x duration)"
    )
    figure: ClassVar[str] = "accuracy over energy above idle (mAP per watt-hour)"
    unit: ClassVar[str] = "mAP/Wh"
    takes_idle: ClassVar[bool] = True

    @property
    def sentence(self) -> str:
        """What the rule ranks by."""
        idle = "the power of the idle board, measured at arming, times the length of the run"
        return f"The score is the accuracy divided by the energy in Wh above idle: the energy less {idle}."

    def _outcome(self, facts: Facts, accuracy: float, energy_wh: float) -> Outcome:
        idle_w = facts.idle_power_w
        duration_s = facts.duration_s
        if idle_w is None:
            return Outcome(None, NO_IDLE)
        if duration_s is None:
            return Outcome(None, NO_TIME)
        idle_wh = idle_w * duration_s / 3600
        excess_wh = energy_wh - idle_wh
        if not idle_w >= 0 or not duration_s >= 0:  # true for NaN
            told = f"{idle_w} W for {duration_s} s"
            return Outcome(None, f"its idle board would have used {told}")
        if not excess_wh > 0:
            told = f"{figure(energy_wh)} Wh, and its idle board would have used {figure(idle_wh)} Wh"
            return Outcome(None, f"it used {told}: no energy above idle is left")
        limit_wh = (facts.energy_limit or 0.0) * energy_wh
        if not excess_wh > limit_wh:
            told = f"{figure(excess_wh)} Wh above idle, and its energy may be wrong by {figure(limit_wh)} Wh"
            return Outcome(None, f"it used {told}")
        return Outcome(accuracy / excess_wh)


DEFAULT = AccuracyPerWh()
RULES: Mapping[str, type[ContestRule]] = {
    one.name: one
    for one in (
        AccuracyPerWh,
        AccuracyWithinLimit,
        LeastEnergy,
        AccuracyPerExcessWh,
        FloorsThenEnergy,
    )
}


def rule_named(name: str, settings: Mapping[str, float | None]) -> ContestRule:
    """Return the rule with these settings; None means not set. Raises RuleError."""
    kind = RULES.get(name)
    if kind is None:
        known = ", ".join(map(repr, RULES))
        meant = did_you_mean(name, RULES)
        raise RuleError("name", f"name = {name!r} must be one of {known}.{meant}")
    its = {one.name for one in fields(kind)}
    given = {key: value for key, value in settings.items() if value is not None}
    for key in given:
        if key not in its:
            takes = f"it takes {', '.join(sorted(its))}" if its else "it takes none"
            words = f"{key} is no setting of the rule {name!r}; {takes}"
            raise RuleError(key, f"{words}{_taken_by(key)}.")
    rule = kind(**given)
    for key, sentence in rule.problems():
        raise RuleError(key, sentence)
    return rule


def _takes(rule: type[ContestRule], key: str) -> bool:
    return any(one.name == key for one in fields(rule))


def _taken_by(key: str) -> str:
    """Return the end of a sentence about a misplaced setting: the rules that take it."""
    takers = [repr(one.name) for one in RULES.values() if _takes(one, key)]
    return f", and name = {' or '.join(takers)} takes {key}" if takers else ""


def rule_of_words(words: str) -> ContestRule:
    """Return the rule of a text such as `ContestRule.signed`: name, settings as `key=value`. Raises RuleError."""
    name, *given = words.split(",")
    settings = {}
    for one in given:
        key, _, value = one.partition("=")
        try:
            settings[key.strip()] = float(value)
        except ValueError:
            sentence = f"{one!r} is no setting; write it as energy_limit_wh=5."
            raise RuleError(key, sentence) from None
    return rule_named(name.strip(), settings)


def _over(
    what: str, value: float | None, limit: float, unit: str, unknown: str
) -> str | None:
    if value is None:
        return unknown
    return over(what, value, limit, unit)
