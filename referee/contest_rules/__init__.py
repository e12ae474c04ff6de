"""What a contest ranks its runs by: the score of a run from its accuracy, energy and time, and the limits on them.

`rule` says what a rule is, `offered` holds all rules with their sources. Pure: no room, file or clock is known here.
Start with `offered`.
"""

from referee.contest_rules.offered import DEFAULT, RULES, rule_named, rule_of_words
from referee.contest_rules.rule import (
    ContestRule,
    Facts,
    Outcome,
    RuleError,
    apart,
    figure,
)

__all__ = [
    "DEFAULT",
    "RULES",
    "ContestRule",
    "Facts",
    "Outcome",
    "RuleError",
    "apart",
    "figure",
    "rule_named",
    "rule_of_words",
]
