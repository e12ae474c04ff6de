"""The rules by which a run is judged: those recorded at its arming (bound), even if contest.toml has changed since."""

from __future__ import annotations

from dataclasses import asdict, replace

from lpirc_score.metrics.evaluation_result import RULES_VERSION
from lpirc_score.tasks import BOXES
from lpirc_score.tasks.offered import TASK_RULES_VERSION
from referee.config import ContestConfig
from referee.contest import Contest
from referee.errors import RefereeError
from referee.store.records import Run, Score


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
