"""The parts of the page about one file and metric: each analysis as a plot, with its figures in a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from lpirc_score.analysis.analyses import Analyses
from lpirc_score.analysis.best_f1 import F1, BestF1
from lpirc_score.analysis.calibration import Calibration
from lpirc_score.analysis.confusion_matrix import ConfusionMatrix
from lpirc_score.analysis.error_types import ErrorAnalysis, ErrorType
from lpirc_score.analysis.label_candidates import LabelCandidate
from lpirc_score.analysis.sizes import SizeScore
from lpirc_score.files.curve_drawings import Curves, envelope
from lpirc_score.files.page_parts import (
    Table,
    figure,
    folded,
    part,
    scrolled,
    table_element,
)
from lpirc_score.files.svg_plots import (
    Bin,
    bars_plot,
    lines_plot,
    matrix_plot,
    reliability_plot,
)
from lpirc_score.metrics.coco_ranking import RECALLS
from lpirc_score.metrics.evaluation_result import Evaluation

Names = Mapping[int, str]

MOST_IN_MATRIX = 25
"""Categories that the matrix shows: of more, those with the most confusions."""
_TOTALS = (ErrorType.FALSE_POSITIVE, ErrorType.FALSE_NEGATIVE)


def sections_of(
    evaluation: Evaluation,
    names: Names,
    found: Analyses,
    curves: Curves,
) -> Iterator[str]:
    """Yield the parts in HTML, those that were computed."""
    if curves:
        yield _curves(curves, names)
    if found.calibration is not None:
        yield _calibration(found.calibration)
    elif found.f1 is not None:
        sentence = "Not every confidence is from 0 to 1, so there is no calibration."
        yield part("Calibration", sentence)
    if found.errors is not None:
        yield _errors(found.errors)
    if found.sizes:
        yield _sizes(found.sizes)
    if found.confusion is not None:
        yield _confusion(found.confusion)
    yield _categories(evaluation, names, found.f1)
    if found.slices:
        yield _slices(found.slices)
    if found.worst:
        yield _worst(found)
    if found.labels is not None:
        yield _labels(found.labels, names)


def _curves(curves: Curves, names: Names) -> str:
    lines = {names[id_]: (RECALLS, envelope(curve)) for id_, curve in curves.items()}
    mean = np.mean([precision for _, precision in lines.values()], axis=0)
    sentence = (
        f"The best precision at each recall or above: {len(lines)} categories (grey) and their mean (blue). "
        "Point at a line for its name."
    )
    label = (
        f"Precision over recall: the mean precision is {mean[0]:.2f} at recall 0, "
        f"{mean[50]:.2f} at recall 0.5 and {mean[90]:.2f} at recall 0.9."
    )
    return part(
        "Precision and recall", sentence, lines_plot(lines, (RECALLS, mean), label)
    )


def _errors(found: ErrorAnalysis) -> str:
    rows = [
        (str(type_), gain, figure(gain, 4, "+"))
        for type_, gain in found.gains.items()
        if type_ not in _TOTALS
    ]
    sentence = (
        f"What the mAP of {figure(found.map)}, by {found.rule} at IoU {found.iou:g}, would gain if all errors of one "
        "type were mended, and no other. The gains do not add up."
    )
    told = ", ".join(f"{name} {text}" for name, _, text in rows)
    cells = [
        (str(type_), str(found.counts[type_]), figure(gain, sign="+"))
        for type_, gain in found.gains.items()
    ]
    table = Table(("type",), ("errors", "mAP gained"), cells)
    plot = bars_plot(rows, f"mAP gained by mending each type of error: {told}.")
    return part("Errors", sentence, plot, folded("Errors in figures", table))


def _calibration(found: Calibration) -> str:
    bins = [
        Bin(one.low, one.high, one.count, one.precision, one.confidence)
        for one in found.bins
    ]
    sentence = (
        f"Of detections with a confidence of 0.8, are 8 of 10 true (by {found.rule} at IoU {found.iou:g})? "
        "On the dashed line they are; below it the detector is too confident. "
        f"Expected calibration error {figure(found.ece, 4)}, largest gap {figure(found.mce, 4)}."
    )
    cells = [
        (
            f"{one.low:g} to {one.high:g}",
            str(one.count),
            figure(one.confidence),
            figure(one.precision),
        )
        for one in found.bins
    ]
    columns = ("detections", "mean confidence", "share true")
    table = folded("Calibration in figures", Table(("confidence",), columns, cells))
    label = f"Reliability curve over {found.detections} detections, expected calibration error {figure(found.ece, 4)}."
    return part("Calibration", sentence, reliability_plot(bins, label), table)


def _sizes(found: Mapping[str, SizeScore]) -> str:
    rows = [(name, one.map, figure(one.map, 4)) for name, one in found.items()]
    told = ", ".join(f"{name} {text}" for name, _, text in rows)
    cells = [
        (
            name,
            f"{one.least:g} to {one.most:g}",
            str(one.objects),
            figure(one.map),
        )
        for name, one in found.items()
    ]
    columns = ("square pixels", "objects", "mAP")
    table = folded("Sizes in figures", Table(("size",), columns, cells))
    sentence = (
        f"The mAP of objects of each size, by {found['all'].rule}; "
        "small is up to 32 x 32 pixels, large from 96 x 96."
    )
    return part("Sizes", sentence, bars_plot(rows, f"mAP by size: {told}."), table)


def _confusion(found: ConfusionMatrix) -> str:
    counts = found.counts
    off = counts.copy()
    np.fill_diagonal(off, 0)
    wrong = off[:-1, :-1]
    confused = wrong.sum(axis=0) + wrong.sum(axis=1)
    shown = np.argsort(-confused, kind="stable")[:MOST_IN_MATRIX]
    which = [*sorted(shown.tolist()), len(found.ids)]
    shares = found.shares
    sentence = (
        f"Rows are objects, columns what was found there, from confidence {found.confidence:g} at IoU {found.iou:g}. "
        "A cell is as strong as its share of its row."
    )
    if len(found.ids) > MOST_IN_MATRIX:
        sentence += f" The {MOST_IN_MATRIX} categories of {len(found.ids)} with the most confusions are shown."
    plot = matrix_plot(
        [found.names[place] for place in which],
        counts[np.ix_(which, which)].tolist(),
        shares[np.ix_(which, which)].tolist(),
        "Confusion matrix; its largest confusions are in the table below.",
    )
    pairs = [
        (count, row, column)
        for row, of_row in enumerate(wrong.tolist())
        for column, count in enumerate(of_row)
        if count
    ]
    cells = [
        (
            found.names[row],
            found.names[column],
            str(count),
            f"{shares[row, column]:.1%}",
        )
        for count, row, column in sorted(pairs, key=lambda pair: -pair[0])[:50]
    ]
    columns = ("detections", "share of the objects")
    table = Table(("object", "found as"), columns, cells)
    return part(
        "Confusion of categories",
        sentence,
        scrolled(plot, "Confusion matrix"),
        folded("Confused pairs, the most frequent first", table) if cells else "",
        is_wide=True,
    )


def _categories(evaluation: Evaluation, names: Names, f1: BestF1 | None) -> str:
    columns = ["objects", "found", "false", "AP"]
    if f1 is not None:
        columns += ["best F1", "from confidence"]
    rows = []
    for id_, counts in evaluation.counts.items():
        row = [
            str(id_),
            names[id_],
            str(counts.objects),
            str(counts.true_positives),
            str(counts.false_positives),
            figure(evaluation.ap[id_]),
        ]
        if f1 is not None:
            row += _f1_cells(f1.by_category[id_])
        rows.append(row)
    sentence = f"The mAP is the mean AP of the {evaluation.categories_with_ground_truth} categories with objects."
    if evaluation.map is None:
        sentence = "No category has an object, so there is no mAP."
    if f1 is not None and f1.overall is not None:
        best = f1.overall
        at = figure(best.confidence)
        sentence += (
            f" By {f1.rule}, with one threshold for all categories, the best F1 is {best.f1:.5f}, "
            f"from confidence {at}: "
            f"precision {best.precision:.5f}, recall {best.recall:.5f}."
        )
    table = table_element(Table(("id", "category"), columns, rows), "Categories")
    return part("Categories", sentence, table, is_wide=True)


def _f1_cells(one: F1 | None) -> list[str]:
    if one is None:
        return ["none", "none"]
    return [figure(one.f1), figure(one.confidence)]


def _slices(found: Mapping[str, Evaluation]) -> str:
    rows = [(name, one.map, figure(one.map, 4)) for name, one in found.items()]
    told = ", ".join(f"{name} {text}" for name, _, text in rows)
    cells = []
    for name, one in found.items():
        objects = sum(counts.objects for counts in one.counts.values())
        row = (
            name,
            str(one.images),
            str(objects),
            str(one.detections),
            figure(one.map),
        )
        cells.append(row)
    columns = ("images", "objects", "detections", "mAP")
    table = folded("Slices in figures", Table(("slice",), columns, cells))
    sentence = "The mAP on the images of each slice alone, over the categories that have objects there."
    return part("Slices", sentence, bars_plot(rows, f"mAP by slice: {told}."), table)


def _worst(found: Analyses) -> str:
    cells = []
    for one, name in zip(found.worst, found.worst_names, strict=True):
        image = f"{one.image} {name}".strip()
        row = (image, figure(one.cost), str(one.false), str(one.unfound))
        cells.append(row)
    columns = ("mAP lost", "false", "not found")
    table = table_element(Table(("image",), columns, cells), "Most costly images")
    sentence = "The images whose errors cost the most mAP."
    return part("Most costly images", sentence, table)


def _labels(found: tuple[LabelCandidate, ...], names: Names) -> str:
    sentence = "Confident detections that contradict the ground truth, the surest first. A person decides."
    if not found:
        return part("Labels to look at", "No confident detection contradicts a label.")
    cells = []
    for one in found:
        labelled = "nothing"
        if one.object_category is not None:
            labelled = names[one.object_category]
        box = ", ".join(f"{corner:g}" for corner in one.box)
        image = f"{one.image} {one.image_name}".strip()
        row = (
            image,
            str(one.doubt),
            labelled,
            names[one.category],
            box,
            figure(one.confidence),
        )
        cells.append(row)
    columns = ("image", "doubted", "labelled", "found as", "box found")
    table = table_element(Table(columns, ("confidence",), cells), "Labels to look at")
    return part("Labels to look at", sentence, table, is_wide=True)
