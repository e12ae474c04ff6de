"""Precision-recall curves as a file: a table for .csv, a drawing for .png and .svg."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from lpirc_score import CocoCurve, Curve
from lpirc_score.files.plots import (
    drawn,
    inline_svg,
    note_in_middle,
    printable,
    require_drawable,
    write_drawing,
)
from lpirc_score.metrics.coco_ranking import RECALLS

Curves = Mapping[int, Curve | CocoCurve]

SUFFIXES = (".csv", ".png", ".svg")
_MOST_IN_LEGEND = 20
_MOST_POINTS = 100  # of a curve in a page
_LONGEST_NAME = 30
_COLOURS = 10  # of matplotlib's cycle; after them the next style distinguishes curves
_STYLES = ("-", "--", ":", "-.")


def check_curve_path(path: Path) -> None:
    """Raise `CodedError` `bad-curves-file` unless the path ends in one of SUFFIXES and can be written."""
    require_drawable(path, SUFFIXES, "bad-curves-file")


def write_curves(
    path: Path, curves: Curves, names: Mapping[int, str], title: str
) -> None:
    """Write the curves by category id; `names` are those of the categories. A table has the columns of a curve.

    Raises `CodedError` `bad-curves-file`, `curves-not-written`, `no-matplotlib`.
    """
    _write(
        path, {"": curves}, names, lambda figure: _draw(figure, curves, names, title)
    )


def write_overlay(
    path: Path, overlaid: Mapping[str, Curves], names: Mapping[int, str]
) -> None:
    """Write the curves of several files, by what they are of: all points, or the drawn mean of each over categories.

    That mean is of the precision envelopes at 101 recalls; for `coco` at IoU .50. Raises as `write_curves` does.
    """
    _write(path, overlaid, names, lambda figure: _draw_means(figure, overlaid))


def inline_curves(curves: Curves, names: Mapping[int, str], label: str) -> str:
    """Curves, at most 20 of them, as an SVG element for a page. Raises `CodedError` `no-matplotlib`."""
    few = {category: _thinned(curve) for category, curve in curves.items()}
    short = {
        id_: f"{name[:_LONGEST_NAME]} ..." if len(name) > _LONGEST_NAME else name
        for id_, name in names.items()
    }
    return inline_svg(label, lambda figure: _draw(figure, few, short, ""), (9, 4.5))


def _thinned(curve: Curve | CocoCurve) -> Any:
    kept = np.linspace(
        0, len(curve.recall) - 1, min(_MOST_POINTS, len(curve.recall))
    ).astype(np.int64)
    return type(curve)(*(column[kept] for column in vars(curve).values()))


def _write(
    path: Path,
    overlaid: Mapping[str, Curves],
    names: Mapping[int, str],
    draw: Callable[[Any], None],
) -> None:
    check_curve_path(path)
    form = path.suffix.lower().removeprefix(".")
    write_drawing(
        path, _table(overlaid, names) if form == "csv" else drawn(form, draw), "curves"
    )


def _draw_means(figure: Any, overlaid: Mapping[str, Curves]) -> None:
    title = "mean over the categories"
    axes = figure.add_subplot(
        xlim=(0, 1), ylim=(0, 1.02), xlabel="recall", ylabel="precision", title=title
    )
    lines = []
    for place, curves in enumerate(overlaid.values()):
        mean = np.mean(
            [_envelope(curve) for curve in curves.values()] or [np.zeros(101)], axis=0
        )
        lines += axes.plot(RECALLS, mean, _STYLES[place % len(_STYLES)], linewidth=1.5)
    axes.grid(alpha=0.3)
    _add_legend(axes, lines, list(overlaid), loc="upper right")


def _envelope(curve: Curve | CocoCurve) -> Any:
    """The best precision at each of the RECALLS or above."""
    if isinstance(curve, CocoCurve):
        return curve.precision_50
    best = np.append(np.maximum.accumulate(curve.precision[::-1])[::-1], 0.0)
    return best[np.searchsorted(curve.recall, RECALLS)]


def _table(overlaid: Mapping[str, Curves], names: Mapping[int, str]) -> bytes:
    kinds = {
        type(curve) for curves in overlaid.values() for curve in curves.values()
    } or {Curve}
    columns = dict.fromkeys(
        column.name
        for kind in (Curve, CocoCurve)
        if kind in kinds
        for column in fields(kind)
    )
    text = io.StringIO()
    several = len(overlaid) > 1
    writer = csv.writer(text)
    writer.writerow((*["of"] * several, "category", "name", *columns))
    for what, curves in overlaid.items():
        for category, curve in curves.items():
            points = {name: column.tolist() for name, column in vars(curve).items()}
            for row in zip(
                *(points.get(name, repeat("")) for name in columns), strict=False
            ):
                writer.writerow((*[what] * several, category, names[category], *row))
    return text.getvalue().encode()


def _lines(curve: Curve | CocoCurve) -> list[tuple[Any, Any]]:
    if isinstance(curve, CocoCurve):
        return [(curve.recall, curve.precision_50), (curve.recall, curve.precision_75)]
    # A category without true positives stays in the legend: precision 0 at recall 0.
    return [(curve.recall, curve.precision) if len(curve.rank) else ([0.0], [0.0])]


def _draw(figure: Any, curves: Curves, names: Mapping[int, str], title: str) -> None:
    axes = figure.add_subplot(
        xlim=(0, 1), ylim=(0, 1.02), xlabel="recall", ylabel="precision", title=title
    )
    lines = []
    for place, curve in enumerate(curves.values()):
        style = _STYLES[place // _COLOURS % len(_STYLES)]
        first, *others = _lines(curve)
        lines += axes.plot(*first, style, marker=".", markersize=3, linewidth=1)
        for points in others:
            axes.plot(
                *points, style, color=lines[-1].get_color(), alpha=0.4, linewidth=1
            )
    axes.grid(alpha=0.3)
    if not any(
        np.any(precision) for curve in curves.values() for _, precision in _lines(curve)
    ):
        note_in_middle(axes, "no detection found an object")
    if 0 < len(curves) <= _MOST_IN_LEGEND:
        texts = [names[category] for category in curves]
        _add_legend(axes, lines, texts, loc="upper left", bbox_to_anchor=(1.01, 1))


def _add_legend(axes: Any, lines: Any, texts: Sequence[str], **place: Any) -> None:
    """A legend that has names as they are, even with dollar signs or the underscore that hides one from a legend."""
    legend = axes.legend(lines, [" "] * len(lines), fontsize="small", **place)
    for shown, text in zip(legend.get_texts(), texts, strict=True):
        shown.set_parse_math(False)
        shown.set_text(printable(text))
