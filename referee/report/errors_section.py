"""The section of a report that says what errors cost, where they are, and what a threshold would have changed."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from lpirc_score.analysis.error_types import ErrorType
from lpirc_score.analysis.slices import MOST_ROWS
from lpirc_score.analysis.thresholds import ThresholdCurve
from lpirc_score.files.curve_drawings import inline_curves
from lpirc_score.files.plots import inline_svg
from lpirc_score.metrics.evaluation_result import signature_parts
from lpirc_score.metrics.offered import COCO, has_one_threshold
from referee.contest import Contest
from referee.contest_rules import DEFAULT
from referee.judging.bound_rules import rule_of_rules
from referee.judging.error_details import error_details
from referee.judging.score_explanation import Explanation
from referee.report.run_chart import BLUE, BROWN
from referee.report.worst_images import MOST_DRAWN, pictures
from referee.store.records import Run, Score

GREY = "#555555"
FEW = 10  # curves shown of the best categories, and of the worst
ERRORS = {
    ErrorType.CLASSIFICATION: "on an object, but with the wrong category",
    ErrorType.LOCALISATION: "on an object of its category, but the box fits too badly",
    ErrorType.BOTH: "near an object, but with the wrong category and a box that fits too badly",
    ErrorType.DUPLICATE: "on an object that another detection has found already",
    ErrorType.BACKGROUND: "on no object",
    ErrorType.MISSED: "objects that no detection finds, even with its errors corrected",
    ErrorType.FALSE_POSITIVE: "all false detections, of any type",
    ErrorType.FALSE_NEGATIVE: "all objects that were not found",
}


def _other_rule(metric: str) -> str:
    """Return a sentence that names the metric of the gains if `metric` has no single IoU threshold, else ""."""
    if has_one_threshold(metric):
        return ""
    if metric == COCO:
        return (
            "The metric coco has ten IoU thresholds: the gains below are in the mAP at "
            "IoU 0.5 alone, as the program tidecv computes them"
        )
    return (
        f"The metric {metric} has no single IoU threshold: the gains below are in the mAP of the "
        f"metric lpirc at IoU 0.5"
    )


def errors_section(
    found: Explanation,
    contest: Contest,
    run: Run,
    judged: Score,
) -> dict[str, Any]:
    """Return what the section shows of an explained judgement."""
    names = {one.id: one.name for one in contest.test_set.categories}
    other_rule = _other_rule(signature_parts(judged.signature)["metric"])
    caption = f"Precision by recall{' at IoU 0.5' if other_rule else ''}"
    best_first = sorted(
        found.curves, key=lambda one: (-(judged.ap.get(one) or 0.0), names[one])
    )
    drawn = best_first
    if len(best_first) > 2 * FEW:
        drawn = best_first[:FEW] + best_first[-FEW:]
        caption += f": first the {FEW} best categories, then the {FEW} worst"
    losses = found.analysis.confidence_cost
    curves = inline_curves({one: found.curves[one] for one in drawn}, names, caption)
    details = error_details(found, judged)
    no_intervals = ""
    if len(found.detections) > MOST_ROWS:
        no_intervals = f"The intervals are computed only for up to {MOST_ROWS:,} rows."
    confused = [(names[one.sent], names[one.true], one) for one in details.confusions]
    return {
        "slices": (*details.sizes, *details.crowding),
        "confused": confused,
        "no_intervals": no_intervals,
        "thresholds": details.thresholds,
        "threshold_chart": _threshold_chart(details.thresholds, judged),
        "costs": [(one, ERRORS[one.type]) for one in found.costs],
        "lever_costs": found.costs,
        "other_rule": other_rule,
        "regret": found.regret,
        "curves": Markup(curves),  # noqa: S704 - our drawing
        "caption": caption,
        "categories": [
            (names[one], judged.ap.get(one), losses.get(one)) for one in best_first
        ],
        "most_drawn": MOST_DRAWN,
        "pictures": pictures(found, contest, run),
    }


def _threshold_chart(curve: ThresholdCurve | None, judged: Score) -> Markup:
    """Draw the score, or without one the mAP, and the rows that are left at each threshold of confidence."""
    if curve is None:
        return Markup("")
    is_quotient = judged.score is not None and rule_of_rules(judged.rules) == DEFAULT
    of_score = judged.energy_wh if is_quotient else None
    values = curve.map / (of_score or 1.0)

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.plot(curve.threshold, values, color=BLUE, marker=".", linewidth=1.2)
        axes.axvline(curve.threshold[curve.best], color=BROWN, linestyle="--")
        axes.set_xlabel("rows below this confidence left out")
        axes.set_ylabel("mAP" if of_score is None else "score, mAP/Wh", color=BLUE)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        rows = axes.twinx()
        rows.step(curve.threshold, curve.rows, where="post", color=GREY, linewidth=1)
        rows.set_ylabel("rows that are left", color=GREY)
        rows.set_ylim(bottom=0)
        rows.ticklabel_format(axis="y", style="plain")

    return Markup(inline_svg("Score by threshold of confidence", draw, (9, 3)))  # noqa: S704 - our drawing
