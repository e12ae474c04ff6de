"""Comparison of two judged runs, and how much mAP and energy contribute to the ratio of their scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from lpirc_score.tasks import BOXES
from lpirc_score.tasks.words import Words, words_of
from referee.contest import Contest
from referee.contest_rules import DEFAULT
from referee.judging.bound_rules import RULE, rule_of
from referee.judging.run_course import course_of
from referee.judging.run_figures import score_document
from referee.judging.score_explanation import explain
from referee.store.records import Run, Score

_JUDGED = (
    "score",
    "map",
    "energy_wh",
    "mean_power_w",
    "elapsed_s",
    "window_s",
    "images",
    "detections",
)
_MUST_AGREE = ("state", "metric", "test_set", "window_s", RULE)


@dataclass(frozen=True)
class Compared:
    """The figures of a run for a comparison: `figures` by name, and that of each category by category name."""

    figures: dict[str, Any]
    ap: dict[str, float | None]
    words: Words


class Row(NamedTuple):
    """One figure of two runs; `difference` is second minus first, or None if they are not numbers."""

    figure: str
    first: Any
    second: Any
    difference: float | None


def compared(
    contest: Contest,
    run: Run,
    judged: Score,
) -> Compared:
    """Return the figures of a judged run for a comparison. Raises TestSetError."""
    rule = rule_of(run)
    course = course_of(contest, run)
    found = None
    if run.task == BOXES:
        found = explain(contest, run, judged)
    document = score_document(run, judged)
    regret = None if found is None else found.regret
    costs = () if found is None else found.costs
    answered = (
        contest.store.posts.images(run.id) if found is None else found.detections.image
    )
    words = words_of(run.task)
    posts_s = course.posts_s.tolist()
    checks: dict[str, Any] = {}
    for one in judged.checks:
        checks[f"check {one.code}"] = "ok" if one.ok else one.severity
    figures = (
        {
            "state": run.state.value,
            "metric": document["metric"],
            "test_set": contest.test_set.digest[:12],
        }
        | ({} if rule == DEFAULT else {RULE: rule.signed})
        | {name: document[name] for name in _JUDGED}
        | _others(judged)
        | {
            "images_fetched": len(course.served_s),
            "images_answered": len({*answered.tolist()}),
        }
        | {
            "images_per_s": course.images_per_s,
            "first_post_s": min(posts_s, default=None),
        }
        | {
            "best_stop_s": None
            if regret is None
            else float(regret.elapsed_s[regret.best])
        }
        | {"regret": None if regret is None else regret.ratio}
        | {f"errors {one.type}": one.count for one in costs}
        | {f"{words.accuracy} lost by {one.type}": one.map for one in costs}
        | checks
    )
    return Compared(
        figures,
        {one.name: judged.ap.get(one.id) for one in contest.test_set.categories}
        if judged.ap
        else {},
        words,
    )


def _others(judged: Score) -> dict[str, float]:
    """Return the further figures of a task; none of them takes the place of a figure that all tasks have."""
    others = judged.others or {}
    return {name: value for name, value in others.items() if name not in _JUDGED}


def rows(first: Compared, second: Compared) -> list[Row]:
    """Return the figures of both runs, then their categories, sorted by difference, largest first."""
    categories = [
        _row(
            f"{first.words.of_category} {name}", first.ap.get(name), second.ap.get(name)
        )
        for name in first.ap | second.ap
    ]
    names = first.figures | second.figures
    figures = [
        _row(name, first.figures.get(name), second.figures.get(name)) for name in names
    ]
    return figures + sorted(categories, key=lambda row: -abs(row.difference or 0.0))


def _row(
    name: str,
    first: Any,
    second: Any,
) -> Row:
    are_numbers = isinstance(first, int | float) and isinstance(second, int | float)
    return Row(name, first, second, second - first if are_numbers else None)


def log_ratios(first: Compared, second: Compared) -> tuple[float, float, float] | None:
    """Return the log of second score / first score, and its parts from mAP and energy; None if a score is missing or 0.

    None, too, by another rule than accuracy over energy.

    The logarithms are natural. The two parts add up to the whole.
    """
    if RULE in first.figures or RULE in second.figures:
        return None
    if not first.figures["score"] or not second.figures["score"]:
        return None
    whole, of_map = (
        math.log(second.figures[key] / first.figures[key]) for key in ("score", "map")
    )
    return whole, of_map, whole - of_map


def differing(first: Compared, second: Compared) -> list[str]:
    """Return the figures that differ although runs must agree in them to be comparable."""
    return [
        name
        for name in _MUST_AGREE
        if first.figures.get(name) != second.figures.get(name)
    ]
