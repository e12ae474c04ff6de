"""Prints the analyses of one file as tables."""

from __future__ import annotations

from collections.abc import Mapping

import click

from lpirc_score.analysis.analyses import Analyses
from lpirc_score.analysis.best_f1 import F1, BestF1
from lpirc_score.analysis.calibration import Calibration
from lpirc_score.analysis.confusion_matrix import ConfusionMatrix
from lpirc_score.analysis.error_types import ErrorAnalysis
from lpirc_score.analysis.label_candidates import LabelCandidate
from lpirc_score.analysis.sizes import SizeScore
from lpirc_score.cli.framed_tables import FramedTable, figures_table, print_framed
from lpirc_score.cli.terminal_tables import Column
from lpirc_score.files.page_parts import figure
from lpirc_score.metrics.evaluation_result import Evaluation

MOST_IN_MATRIX = 20
"""Categories up to which a confusion matrix is printed whole; of more, only the confused pairs are listed."""
_MOST_PAIRS = 20

Names = Mapping[int, str]


def print_analyses(found: Analyses, names: Names) -> None:
    """Print what was asked for; `names` are those of the categories by id."""
    if found.errors is not None:
        _print_errors(found.errors)
        _print_worst(found)
    if found.confusion is not None:
        _print_confusion(found.confusion)
    if found.f1 is not None:
        _print_f1(found.f1, names)
    if found.calibration is not None:
        _print_calibration(found.calibration)
    if found.sizes:
        _print_sizes(found.sizes)
    if found.labels is not None:
        _print_labels(found.labels, names)
    if found.slices:
        _print_slices(found.slices)


def _print_errors(found: ErrorAnalysis) -> None:
    base = f"mAP {figure(found.map)} by {found.rule} at IoU {found.iou:g}"
    title = f"Errors, and what mending each type gains ({base})"
    table = figures_table("type", figures=("errors", "mAP gained"), title=title)
    for type_, gain in found.gains.items():
        if type_.value == "false-positive":
            table.add_section()
        table.add_row(str(type_), str(found.counts[type_]), figure(gain, sign="+"))
    print_framed(table)


def _print_worst(found: Analyses) -> None:
    if not found.worst:
        return
    figures = ("mAP lost", "false", "not found")
    table = figures_table("image", figures=figures, title="Most costly images")
    for one, name in zip(found.worst, found.worst_names, strict=True):
        image = f"{one.image} {name}".strip()
        counts = (str(one.false), str(one.unfound))
        table.add_row(image, f"{one.cost:.5f}", *counts)
    print_framed(table)


def _print_confusion(found: ConfusionMatrix) -> None:
    at = f"{found.rule}, IoU {found.iou:g}, confidence {found.confidence:g} and above"
    if len(found.ids) > MOST_IN_MATRIX:
        _print_pairs(found, at)
        return
    title = f"Objects (rows) by category found (columns), {at}"
    table = figures_table("", figures=found.names, title=title)
    for name, row in zip(found.names, found.counts.tolist(), strict=True):
        table.add_row(name, *map(str, row))
    print_framed(table)


def _print_pairs(found: ConfusionMatrix, at: str) -> None:
    """Print the pairs of different categories, the most frequent first, without background."""
    pairs = [
        (count, found.names[row], found.names[column])
        for row, counts in enumerate(found.counts[:-1].tolist())
        for column, count in enumerate(counts[:-1])
        if count and row != column
    ]
    title = f"Most frequent confusions, {at}"
    columns = ("object", "found as")
    table = figures_table(*columns, figures=("detections",), title=title)
    for count, true, sent in sorted(pairs, key=lambda pair: -pair[0])[:_MOST_PAIRS]:
        table.add_row(true, sent, str(count))
    print_framed(table)


def _print_f1(found: BestF1, names: Names) -> None:
    columns = [Column("id", is_figure=True), Column("category")]
    figures = ("best F1", "precision", "recall", "from confidence")
    columns += [Column(name, is_figure=True) for name in figures]
    table = FramedTable(columns, f"Best F1 by {found.rule} at IoU {found.iou:g}")
    for id_, one in found.by_category.items():
        table.add_row(str(id_), names[id_], *_f1_cells(one))
    table.add_section()
    table.add_row("", "mean of the categories", figure(found.mean))
    table.add_row("", "one threshold for all", *_f1_cells(found.overall))
    print_framed(table)


def _f1_cells(one: F1 | None) -> list[str]:
    if one is None:
        return ["none"]
    threshold = "none" if one.confidence is None else f"{one.confidence:g}"
    return [figure(one.f1), figure(one.precision), figure(one.recall), threshold]


def _print_calibration(found: Calibration) -> None:
    gaps = f"ECE {figure(found.ece)}, largest gap {figure(found.mce)}"
    title = f"Calibration by {found.rule} at IoU {found.iou:g}: {gaps}"
    figures = ("detections", "mean confidence", "true")
    table = figures_table("confidence", figures=figures, title=title)
    for one in found.bins:
        cells = map(figure, (one.confidence, one.precision))
        table.add_row(f"{one.low:g} to {one.high:g}", str(one.count), *cells)
    print_framed(table)


def _print_sizes(found: Mapping[str, SizeScore]) -> None:
    title = f"mAP by size of object, by {found['all'].rule}"
    table = figures_table("objects", figures=("number", "mAP"), title=title)
    for name, one in found.items():
        table.add_row(name, str(one.objects), figure(one.map))
    print_framed(table)


def _print_labels(found: tuple[LabelCandidate, ...], names: Names) -> None:
    if not found:
        click.echo("No confident detection contradicts a label.")
        return
    columns = ("image", "doubted", "labelled", "found as", "box found")
    title = "Labels to look at"
    table = figures_table(*columns, figures=("confidence",), title=title)
    for one in found:
        image = str(one.image)
        if one.image_name:
            image = f"{image} {one.image_name}"
        labelled = "nothing"
        if one.object_category is not None:
            labelled = names[one.object_category]
        box = ", ".join(f"{corner:g}" for corner in one.box)
        doubted = str(one.doubt)
        sure = f"{one.confidence:.5f}"
        table.add_row(image, doubted, labelled, names[one.category], box, sure)
    print_framed(table)


def _print_slices(found: Mapping[str, Evaluation]) -> None:
    figures = ("images", "objects", "detections", "mAP")
    table = figures_table("slice", figures=figures, title="By slice")
    for name, one in found.items():
        objects = sum(counts.objects for counts in one.counts.values())
        counts = (str(one.images), str(objects), str(one.detections))
        table.add_row(name, *counts, figure(one.map))
    print_framed(table)
