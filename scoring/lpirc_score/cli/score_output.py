"""Writes the result of `lpirc-score` as one JSON document or as a table."""

from __future__ import annotations

from typing import Any

import click

from lpirc_score import COCO, Evaluation
from lpirc_score.cli.analysis_documents import as_documents
from lpirc_score.cli.framed_tables import FramedTable, print_framed
from lpirc_score.cli.score_comparison import Result
from lpirc_score.cli.terminal_tables import Column
from lpirc_score.files.page_parts import figure
from lpirc_score.metrics.ilsvrc_det import PUBLISHED
from lpirc_score.metrics.offered import engine_of

_COLUMNS = (
    Column("id", is_figure=True),
    Column("category"),
    Column("objects", is_figure=True),
    Column("found", is_figure=True),
    Column("false", is_figure=True),
    Column("AP", is_figure=True),
)


def as_document(result: Result) -> dict[str, Any]:
    """Return the result as a JSON document.

    Floats have full precision, and categories without ground truth are null. The counts of `coco` are at IoU .50.
    """
    evaluation = result.evaluation
    document: dict[str, Any] = {
        "metric": evaluation.metric,
        "map": evaluation.map,
        "ap": {str(category): ap for category, ap in evaluation.ap.items()},
        "categories": {
            str(category): _counts(evaluation, category)
            for category in evaluation.counts
        },
        "categories_with_ground_truth": evaluation.categories_with_ground_truth,
        "images": evaluation.images,
        "detections": evaluation.detections,
        "energy_wh": result.energy_wh,
        "score": result.score,
        "map_ilsvrc_det": result.map_ilsvrc_det,
        "signature": evaluation.signature,
    }
    if evaluation.summary is not None:
        document["summary"] = evaluation.summary
    if result.selection is not None:
        document["selection"] = result.selection
    return document | as_documents(result.analyses)


def _counts(evaluation: Evaluation, category: int) -> dict[str, float | None]:
    counts = evaluation.counts[category]
    document: dict[str, float | None] = {
        "objects": counts.objects,
        "found": counts.true_positives,
        "false": counts.false_positives,
    }
    if evaluation.ap50 is not None and evaluation.ap75 is not None:
        document |= {
            "ap50": evaluation.ap50[category],
            "ap75": evaluation.ap75[category],
        }
    return document


def threshold_text(evaluation: Evaluation) -> str:
    """Return the overlap threshold of an evaluation, as text."""
    if evaluation.iou is not None:
        return f"IoU {evaluation.iou:g}"
    if evaluation.metric == COCO:
        return "IoU .50:.95, counts at .50"
    return f"computed by {engine_of(evaluation.metric)}"


def print_result(result: Result) -> None:
    """Print the figures of each category as a table, then the mAP and related figures."""
    evaluation = result.evaluation
    truth = result.truth
    title = f"{evaluation.metric}, {threshold_text(evaluation)}"
    table = FramedTable(_COLUMNS, title)
    for category, name in zip(
        truth.category_ids.tolist(), truth.category_names, strict=True
    ):
        counts = evaluation.counts[category]
        ap = evaluation.ap[category]
        numbers = (counts.objects, counts.true_positives, counts.false_positives)
        table.add_row(
            str(category),
            name,
            *map(str, numbers),
            figure(ap),
        )
    print_framed(table)
    mean = (
        f"the mean of {evaluation.categories_with_ground_truth} categories with objects"
    )
    if evaluation.map is None:
        mean = "since no category has an object"
    click.echo(
        f"mAP {figure(evaluation.map)}, {mean}; "
        f"{evaluation.detections} detections on {evaluation.images} images"
    )
    if evaluation.detections == 0:
        click.echo("No detections are scored: DETECTIONS has no rows of these images.")
    if evaluation.metric != PUBLISHED:
        click.echo(
            f"mAP {figure(result.map_ilsvrc_det)} by {PUBLISHED}, to compare with published champions"
        )
    for name, value in (evaluation.summary or {}).items():
        click.echo(f"{name} {figure(value)}")
    if result.energy_wh is not None:
        reached = figure(result.score, 4)
        click.echo(f"score {reached} mAP/Wh with {result.energy_wh} Wh")
    click.echo(f"signature {evaluation.signature}")
