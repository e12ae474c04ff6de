"""The rules by which a run is judged: those recorded at its arming (bound), even if contest.toml has changed since."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from lpirc_score.metrics.evaluation_result import RULES_VERSION, signature_parts
from lpirc_score.tasks import BOXES
from lpirc_score.tasks.offered import TASK_RULES_VERSION
from referee.config import ContestConfig
from referee.contest import Contest
from referee.contest_rules import DEFAULT, ContestRule, RuleError, rule_named
from referee.errors import RefereeError
from referee.store.records import Run, Score
from referee.store.run_rules import Rules

RULE = "rule"
"""The part of a judgement's signature that names its rule; a judgement by the default rule has none."""


def as_judged(
    contest: Contest,
    run: Run,
    metric: str | None = None,
) -> Contest:
    """Return the contest with the rules for judging a run: its own rules, else those of contest.toml.

    An organizer may judge the run by another `metric`. The judgement then states that its rules are not the bound ones.
    Raises RefereeError `no-metric` if the run's task is not boxes.
    """
    bound = run.rules
    config = contest.config
    if bound is not None:
        config = replace(
            config,
            metric=bound.metric,
            task=bound.task or BOXES,
            count_unserved=bound.count_unserved,
            least_map=bound.least_map,
        )
    if metric not in (None, config.scored_by) and config.task != BOXES:
        raise RefereeError(
            "no-metric",
            f"Run {run.id} answers the task {config.task}, which has its own figure; judge it without a metric.",
        )
    return replace(contest, config=replace(config, metric=metric or config.metric))


def rules_version(config: ContestConfig) -> int:
    """Return the version of the rules by which the contest's answers are scored now."""
    return RULES_VERSION if config.task == BOXES else TASK_RULES_VERSION


def rule_of(run: Run) -> ContestRule:
    """Return what a run is ranked by: the rule bound at its arming, else the one that all earlier versions had.

    Raises RefereeError `rule-unknown` if this version does not know the rule.
    """
    return rule_of_rules(run.rules)


def rule_of_rules(rules: Rules | None) -> ContestRule:
    """Return the same from the rules of a run. Raises RefereeError `rule-unknown`."""
    if rules is None or rules.rule is None:
        return DEFAULT
    name = str(rules.rule.get("name"))
    settings: Any = {key: value for key, value in rules.rule.items() if key != "name"}
    try:
        return rule_named(name, settings)
    except (RuleError, TypeError) as error:
        sentence = (
            f"The run was armed with a rule that this version does not know: {error}"
        )
        raise RefereeError("rule-unknown", sentence) from error


def has_provisional_score(run: Run) -> bool:
    """Return True if an open run has a score: by another rule than the default its figures so far are no score yet."""
    return run.rules is None or run.rules.rule is None


def signed_rule(signature: str) -> str:
    """Return the rule of a judgement, with its settings, as its signature has it."""
    return signature_parts(signature).get(RULE, DEFAULT.signed)


def judged_otherwise(run: Run, judged: Score) -> tuple[str, ...]:
    """Return how the rules of a run's judgement differ from the run's rules, such as by a corrected ground truth."""
    if run.rules is None or judged.rules is None:
        return ()
    return judged.rules.differences(run.rules)


def other_prizes(config: ContestConfig, run: Run) -> tuple[str, ...]:
    """Return how the prizes of contest.toml differ from those in a run's rules. Boards award those of contest.toml."""
    if run.rules is None:
        return ()
    now = replace(run.rules, prizes=tuple(asdict(prize) for prize in config.prizes))
    return now.differences(run.rules)
