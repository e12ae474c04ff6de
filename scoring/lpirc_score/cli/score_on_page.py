"""What `--html` writes: results as a page."""

from __future__ import annotations

from collections.abc import Sequence

from lpirc_score import COCO, Order
from lpirc_score.cli.score_comparison import Result, curves_of
from lpirc_score.files.page_parts import figure
from lpirc_score.files.score_page import PageResult, ScorePage
from lpirc_score.metrics.ilsvrc_det import PUBLISHED
from lpirc_score.metrics.offered import has_one_threshold


def page_of(
    results: Sequence[Result],
    orders: Sequence[Order],
    iou: float | None,
) -> ScorePage:
    """Return the page of some results and of the orders of their files."""
    files = list(dict.fromkeys(one.file.name for one in results))
    sentences = [
        f"{order.metric}: {order.first} is ahead of {order.second} with a probability of {order.chance:.1%}."
        for order in orders
    ]
    pages = [_page(one, iou) for one in results]
    title = f"Score of {', '.join(files)}"
    return ScorePage(title, pages, sentences, results[0].part)


def _page(result: Result, iou: float | None) -> PageResult:
    evaluation = result.evaluation
    metric = evaluation.metric
    facts = [("mAP", figure(evaluation.map))]
    if metric != PUBLISHED:
        facts.append((f"mAP by {PUBLISHED}", figure(result.map_ilsvrc_det)))
    summary = evaluation.summary or {}
    for name in ("AP50", "AP75", "AR100"):
        value = summary.get(name)
        if value is not None:
            facts.append((name, f"{value:.5f}"))
    if result.energy_wh is not None:
        facts.append(("score mAP/Wh", figure(result.score, 4)))
    facts.append(("images", str(evaluation.images)))
    facts.append(("detections", str(evaluation.detections)))
    has_curves = metric == COCO or has_one_threshold(metric)
    return PageResult(
        title=f"{result.file} by {metric}",
        facts=facts,
        evaluation=evaluation,
        names=result.names,
        analyses=result.analyses,
        curves=curves_of(result, iou) if has_curves else {},
    )
