"""The table [rule] of contest.toml: what runs are ranked by, with its limits and floors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from referee.contest_rules import DEFAULT, ContestRule, RuleError, rule_named

Problem = tuple[str, int, str, str]


@dataclass(frozen=True)
class RuleTable:
    """The rule by its `name`, one of `referee.contest_rules.RULES`, and the settings of all rules; None: not set.

    Which setting belongs to which rule, and what each means: `referee.contest_rules.offered`.
    """

    name: str = DEFAULT.name
    energy_limit_wh: float | None = None
    power_limit_w: float | None = None
    time_limit_s: float | None = None
    image_limit_s: float | None = None
    least_accuracy: float | None = None
    least_images_per_s: float | None = None

    @property
    def chosen(self) -> ContestRule:
        """The rule with its settings. Raises RuleError."""
        settings = {key: value for key, value in vars(self).items() if key != "name"}
        return rule_named(self.name, settings)


USUAL = RuleTable()
"""The rule of a contest without the table: accuracy over energy."""


def rule_text(rule: ContestRule) -> str:
    """Return the table of a rule as contest.toml has it; empty for the default rule."""
    if rule == DEFAULT:
        return ""
    settings = [f"{key} = {value!r}" for key, value in rule.settings.items()]
    return "\n".join(["", "[rule]", f'name = "{rule.name}"', *settings, ""])


def rule_problems(table: RuleTable, idle_baseline_s: float | None) -> Iterator[Problem]:
    """Yield the problem of [rule], if there is one: table, index, key, sentence."""
    try:
        rule = table.chosen
    except RuleError as error:
        yield "rule", 0, error.key, f"rule: {error}"
        return
    if rule.takes_idle and idle_baseline_s is None:
        words = "set idle_baseline_s, so that arming measures the idle board"
        yield "rule", 0, "name", f'rule: name = "{rule.name}" needs its power: {words}.'
