"""Compares several files or metrics: their APs side by side, and how certain the order of two files is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from lpirc_score import Detections, Evaluation, format_score
from lpirc_score.analysis.halves import half_maps
from lpirc_score.analysis.interval import Halved, chance_of_order
from lpirc_score.cli.terminal_tables import console, figures_table
from lpirc_testsets import GroundTruth


@dataclass(frozen=True)
class Result:
    """An evaluation of one file by one metric, with its mAP by PUBLISHED and, if it has an energy, its score.

    `detections` are those of `file`. `truth` includes images and categories that occur only in the detections. The
    blacklisted pairs are in `banned`.
    """

    evaluation: Evaluation
    map_ilsvrc_det: float
    energy_wh: float | None
    score: float | None
    file: Path
    truth: GroundTruth
    detections: Detections
    banned: frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Order:
    """Two files compared by one metric, the better one first, with the chance that this order is real."""

    metric: str
    first: str
    second: str
    chance: float


def find_orders(results: Sequence[Result], iou: float | None) -> list[Order]:
    """Return the order of every two files, by each metric, on the same images."""
    if len({one.file for one in results}) == 1:
        return []
    drawn = {id(one): _halved(one, iou) for one in results}
    orders = []
    for one, other in combinations(results, 2):
        metric = one.evaluation.metric
        if metric != other.evaluation.metric:
            continue
        better, worse = sorted((one, other), key=_reached, reverse=True)
        chance = chance_of_order(drawn[id(better)], drawn[id(worse)])
        order = Order(
            metric=metric,
            first=str(better.file),
            second=str(worse.file),
            chance=chance,
        )
        orders.append(order)
    return orders


def print_comparison(results: Sequence[Result], orders: Sequence[Order]) -> None:
    """Print one table with a column for each file and metric, then the orders below the table."""
    out = console()
    headings = [f"{one.file}\n{one.evaluation.metric}" for one in results]
    table = figures_table("id", "category", figures=headings, title="AP")
    names: dict[int, str] = {}
    for one in results:
        names |= dict(
            zip(one.truth.category_ids.tolist(), one.truth.category_names, strict=True)
        )
    for category, name in sorted(names.items()):
        found = [one.evaluation.ap.get(category) for one in results]
        table.add_row(str(category), name, *map(ap_text, found))
    table.add_section()
    table.add_row("", "mAP", *(f"{one.evaluation.map:.5f}" for one in results))
    if results[0].score is not None:
        table.add_row(
            "", "score mAP/Wh", *(format_score(one.score or 0.0) for one in results)
        )
    table.add_row(
        "", "detections", *(str(one.evaluation.detections) for one in results)
    )
    out.print(table)
    for order in orders:
        out.print(
            f"{order.metric}: {order.first} is ahead of {order.second} with a probability of {order.chance:.1%}"
        )
    for one in results:
        out.print(f"signature {one.evaluation.signature}  {one.file}")


def ap_text(ap: float | None) -> str:
    """Write an AP with five decimals, or "none" for a category without objects."""
    if ap is None:
        return "none"
    return f"{ap:.5f}"


def _reached(result: Result) -> float:
    if result.score is None:
        return result.evaluation.map
    return result.score


def _halved(result: Result, iou: float | None) -> Halved:
    halves = half_maps(
        result.truth,
        result.detections,
        result.evaluation.metric,
        blacklist=result.banned,
        iou=iou,
    )
    images = result.truth.image_ids.tobytes()
    return Halved(result.evaluation.map, halves, result.energy_wh or 1.0, images=images)
