"""Compares several files or metrics: their APs side by side, and how certain the order of two files is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from lpirc_score import (
    COCO,
    Detections,
    Evaluation,
    Order,
    coco_curves,
    precision_recall_curves,
)
from lpirc_score.analysis.analyses import Analyses
from lpirc_score.analysis.comparison import orders_of
from lpirc_score.analysis.halves import half_maps
from lpirc_score.analysis.interval import Halved
from lpirc_score.cli.framed_tables import figures_table, print_framed
from lpirc_score.files.curve_drawings import Curves
from lpirc_score.files.page_parts import figure
from lpirc_testsets import GroundTruth


@dataclass(frozen=True)
class Result:
    """An evaluation of one file by one metric, with its mAP by PUBLISHED and, if it has an energy, its score.

    `detections` are those of `file`. `truth` includes images and categories that occur only in the detections. The
    blacklisted pairs are in `banned`. `selection` is the part of the set that was scored, None for all of it; `part`
    is a sentence about it.
    """

    evaluation: Evaluation
    map_ilsvrc_det: float | None
    energy_wh: float | None
    score: float | None
    file: Path
    truth: GroundTruth
    detections: Detections
    banned: frozenset[tuple[int, int]]
    analyses: Analyses
    selection: Mapping[str, object] | None
    part: str

    @property
    def names(self) -> dict[int, str]:
        """Return the names of the categories by id."""
        ids = self.truth.category_ids.tolist()
        return dict(zip(ids, self.truth.category_names, strict=True))


def curves_of(result: Result, iou: float | None) -> Curves:
    """Return the precision-recall curves of a result, by category id."""
    of = (result.truth, result.detections)
    metric = result.evaluation.metric
    if metric == COCO:
        return coco_curves(*of, result.banned)
    return precision_recall_curves(*of, metric, iou, result.banned)


def find_orders(results: Sequence[Result], iou: float | None) -> list[Order]:
    """Return the order of every two files, by each metric, on the same images."""
    if len({one.file for one in results}) == 1:
        return []
    orders: list[Order] = []
    by_metric: dict[str, dict[str, Halved]] = {}
    for one in results:
        reached = one.evaluation.map
        if reached is None:
            continue
        entries = by_metric.setdefault(one.evaluation.metric, {})
        entries[str(one.file)] = _halved(one, reached, iou)
    for metric, entries in by_metric.items():
        orders += orders_of(metric, entries)
    return orders


def print_comparison(results: Sequence[Result], orders: Sequence[Order]) -> None:
    """Print one table with a column for each file and metric, then the orders below the table."""
    headings = [f"{one.file}\n{one.evaluation.metric}" for one in results]
    table = figures_table("id", "category", figures=headings, title="AP")
    names: dict[int, str] = {}
    for one in results:
        names |= one.names
    for category, name in sorted(names.items()):
        found = [one.evaluation.ap.get(category) for one in results]
        table.add_row(str(category), name, *map(figure, found))
    table.add_section()
    table.add_row("", "mAP", *(figure(one.evaluation.map) for one in results))
    if results[0].energy_wh is not None:
        scores = [one.score for one in results]
        table.add_row("", "score mAP/Wh", *(figure(one, 4) for one in scores))
    table.add_row(
        "", "detections", *(str(one.evaluation.detections) for one in results)
    )
    print_framed(table)
    for order in orders:
        click.echo(
            f"{order.metric}: {order.first} is ahead of {order.second} with a probability of {order.chance:.1%}"
        )
    for one in results:
        click.echo(f"signature {one.evaluation.signature}  {one.file}")


def _halved(result: Result, reached: float, iou: float | None) -> Halved:
    halves = half_maps(
        result.truth,
        result.detections,
        result.evaluation.metric,
        blacklist=result.banned,
        iou=iou,
    )
    images = result.truth.image_ids.tobytes()
    return Halved(reached, halves, result.energy_wh or 1.0, images=images)
