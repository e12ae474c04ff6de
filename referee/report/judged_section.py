"""What a report shows of a judgement: all of it, or what its team may know while it may run again."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

from lpirc_score.metrics.evaluation_result import signature_parts
from lpirc_score.metrics.ilsvrc_det import PUBLISHED
from lpirc_score.tasks.words import words_of
from referee.contest import Contest
from referee.contest_rules import DEFAULT
from referee.judging.bound_rules import judged_otherwise, rule_of
from referee.judging.budget_shown import budget_shown
from referee.judging.released_figures import published_figures
from referee.judging.run_checks import without_truth
from referee.judging.run_figures import (
    Figures,
    energy_above_idle_wh,
    score_document,
)
from referee.judging.score_uncertainty import described
from referee.pages.figure_text import score_of
from referee.store.records import Run, Score

OF_TEAM = (
    "run",
    "team",
    "metric",
    "map",
    "energy_wh",
    "score",
    "official",
    "idle_power_w",
    "energy_above_idle_wh",
    "images",
    "detections",
    "elapsed_s",
    "mean_power_w",
    "energy_limit",
    "energy_known_by",
    "energy_budget",
    "needs_review",
    "window_s",
    "closed_by",
    "meter",
    "meter_setup",
    "signature",
    "rules_sha256",
    "other_rules",
)
"""Values of a judgement's document that a team may know that may run again: of its mAP only the published one."""
MOST_REFUSALS = 50
MOST_RECEIPTS = 200


def judged_section(run: Run, judged: Score, figures: Figures) -> dict[str, Any]:
    """Return what the result's section shows of a judgement."""
    return _of_result(run, judged, score_document(run, judged), figures) | {
        "checks": judged.checks,
        "intervals": described(judged.interval),
        "interval": judged.interval,
        "map_ilsvrc_det": judged.map_ilsvrc_det,
    }


def team_section(run: Run, judged: Score, figures: Figures) -> dict[str, Any]:
    """Return what the result's section shows to a team that may run again on these images.

    Accuracy, further figures and score are rounded as on the board: exact ones tell of the ground truth.
    """
    words = words_of(run.task)
    checks = [without_truth(one, words) for one in judged.checks]
    known = score_document(run, judged)
    document = published_figures({name: known[name] for name in OF_TEAM}, rule_of(run))
    others = published_figures({"others": judged.others or {}})["others"]
    rounded = replace(
        judged,
        map=document["map"],
        score=document["score"],
        others=others or None,
    )
    return _of_result(run, judged, document, figures) | {
        "judged": rounded,
        "checks": checks,
        "intervals": (),
        "interval": None,
        "map_ilsvrc_det": None,
    }


def _of_result(
    run: Run,
    judged: Score,
    document: dict[str, Any],
    figures: Figures,
) -> dict[str, Any]:
    # Only operators may read the note of a review.
    remarks = figures.remarks | {"reviewed": figures.reviewed is not None or None}
    return {
        "metric": signature_parts(judged.signature)["metric"],
        "published": PUBLISHED,
        "rule": rule_of(run),
        "score_text": score_of(document),
        "is_by_default_rule": rule_of(run) == DEFAULT,
        "other_rules": judged_otherwise(run, judged),
        "above_idle_wh": energy_above_idle_wh(run, judged),
        "budget": budget_shown(judged),
        "document": json.dumps(document | remarks, indent=1),
    }


def record_section(contest: Contest, run: Run) -> dict[str, Any]:
    """Return what the referee has refused and received in a run, the newest first."""
    store = contest.store
    receipts = store.posts.receipts(run.id, MOST_RECEIPTS)
    refusals = store.refusals.of_run(run.id, MOST_REFUSALS)
    return {
        "refusals": [asdict(one) for one in refusals],
        "receipts": receipts,
        "most_receipts": MOST_RECEIPTS,
    }
