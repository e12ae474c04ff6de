"""Writes precision-recall curves to a file: a table for .csv, a drawing for .png and .svg."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
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
    path: Path,
    curves: Curves,
    names: Mapping[int, str],
    title: str,
) -> None:
    """Write the curves by category id; `names` are those of the categories. A table has the columns of the curves.

    Raises `CodedError` `bad-curves-file`, `curves-not-written`, `no-matplotlib`.
    """

    def draw(figure: Any) -> None:
        _draw(figure, curves, names, title)

    _write(path, {"": curves}, names, draw)


def write_overlay(
    path: Path,
    overlaid: Mapping[str, Curves],
    names: Mapping[int, str],
) -> None:
    """Write the curves of several files, labelled by source.

    A table has all points; a drawing has the mean curve over the categories of each source. The mean is of the
    precision envelopes at 101 recalls; for `coco` it is at IoU .50. Raises as `write_curves` does.
    """

    def draw(figure: Any) -> None:
        _draw_means(figure, overlaid)

    _write(path, overlaid, names, draw)


def inline_curves(
    curves: Curves,
    names: Mapping[int, str],
    label: str,
) -> str:
    """Return curves, at most 20 of them, as an SVG element for a page. Raises `CodedError` `no-matplotlib`."""
    few = {category: _thinned(curve) for category, curve in curves.items()}
    short = {id_: _shortened(name) for id_, name in names.items()}

    def draw(figure: Any) -> None:
        _draw(figure, few, short, "")

    return inline_svg(label, draw, (9, 4.5))


def _shortened(name: str) -> str:
    if len(name) > _LONGEST_NAME:
        return f"{name[:_LONGEST_NAME]} ..."
    return name


def _thinned(curve: Curve | CocoCurve) -> Any:
    count = len(curve.recall)
    few = min(_MOST_POINTS, count)
    places = np.linspace(0, count - 1, few)
    kept = places.astype(np.int64)
    columns = [column[kept] for column in vars(curve).values()]
    return type(curve)(*columns)


def _write(
    path: Path,
    overlaid: Mapping[str, Curves],
    names: Mapping[int, str],
    draw: Callable[[Any], None],
) -> None:
    check_curve_path(path)
    form = path.suffix.lower().removeprefix(".")
    content = _table(overlaid, names) if form == "csv" else drawn(form, draw)
    write_drawing(path, content, "curves")


def _draw_means(figure: Any, overlaid: Mapping[str, Curves]) -> None:
    axes = _axes(figure, "mean over the categories")
    lines = []
    for place, curves in enumerate(overlaid.values()):
        envelopes = [envelope(curve) for curve in curves.values()]
        mean = np.mean(envelopes or [np.zeros(101)], axis=0)
        style = _STYLES[place % len(_STYLES)]
        lines += axes.plot(RECALLS, mean, style, linewidth=1.5)
    axes.grid(alpha=0.3)
    _add_legend(axes, lines, list(overlaid), loc="upper right")


def _axes(figure: Any, title: str) -> Any:
    return figure.add_subplot(
        xlim=(0, 1),
        ylim=(0, 1.02),
        xlabel="recall",
        ylabel="precision",
        title=title,
    )


def envelope(curve: Curve | CocoCurve) -> Any:
    """Return, for each of RECALLS, the best precision at that recall or a higher one."""
    if isinstance(curve, CocoCurve):
        return curve.precision_50
    backwards = np.maximum.accumulate(curve.precision[::-1])
    best = np.append(backwards[::-1], 0.0)
    places = np.searchsorted(curve.recall, RECALLS)
    return best[places]


def _table(overlaid: Mapping[str, Curves], names: Mapping[int, str]) -> bytes:
    columns = _columns(overlaid)
    has_several = len(overlaid) > 1
    header = ["category", "name", *columns]
    if has_several:
        header.insert(0, "of")
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(header)
    for what, curves in overlaid.items():
        begin = [what] if has_several else []
        for category, curve in curves.items():
            name = names[category]
            for point in _points(curve, columns):
                writer.writerow((*begin, category, name, *point))
    return text.getvalue().encode()


def _columns(overlaid: Mapping[str, Curves]) -> list[str]:
    """Return the columns of all kinds of curves present, without repeats."""
    kinds = {type(curve) for curves in overlaid.values() for curve in curves.values()}
    columns: dict[str, None] = {}
    for kind in (Curve, CocoCurve):
        if kind in kinds or not kinds:
            names = [field.name for field in fields(kind)]
            columns |= dict.fromkeys(names)
        if not kinds:
            break
    return [*columns]


def _points(curve: Curve | CocoCurve, columns: Sequence[str]) -> Iterator[Any]:
    """Yield the points of a curve, with an empty text for each column that the curve lacks."""
    known = {name: column.tolist() for name, column in vars(curve).items()}
    values = [known.get(name, repeat("")) for name in columns]
    yield from zip(*values, strict=False)


def _lines(curve: Curve | CocoCurve) -> list[tuple[Any, Any]]:
    if isinstance(curve, CocoCurve):
        return [(curve.recall, curve.precision_50), (curve.recall, curve.precision_75)]
    if len(curve.rank):
        return [(curve.recall, curve.precision)]
    # A category without true positives stays in the legend: precision 0 at recall 0.
    return [([0.0], [0.0])]


def _draw(
    figure: Any,
    curves: Curves,
    names: Mapping[int, str],
    title: str,
) -> None:
    axes = _axes(figure, title)
    lines = []
    for place, curve in enumerate(curves.values()):
        style = _STYLES[place // _COLOURS % len(_STYLES)]
        first, *others = _lines(curve)
        lines += axes.plot(
            *first,
            style,
            marker=".",
            markersize=3,
            linewidth=1,
        )
        for points in others:
            colour = lines[-1].get_color()
            axes.plot(
                *points,
                style,
                color=colour,
                alpha=0.4,
                linewidth=1,
            )
    axes.grid(alpha=0.3)
    if not any(map(_is_above_0, curves.values())):
        note_in_middle(axes, "no detection found an object")
    if 0 < len(curves) <= _MOST_IN_LEGEND:
        texts = [names[category] for category in curves]
        _add_legend(
            axes,
            lines,
            texts,
            loc="upper left",
            bbox_to_anchor=(1.01, 1),
        )


def _is_above_0(curve: Curve | CocoCurve) -> bool:
    return any(np.any(precision) for _, precision in _lines(curve))


def _add_legend(
    axes: Any,
    lines: Any,
    texts: Sequence[str],
    **place: Any,
) -> None:
    """Add a legend with literal names: dollar signs start no formula, and a leading underscore hides nothing."""
    legend = axes.legend(lines, [" "] * len(lines), fontsize="small", **place)
    for shown, text in zip(legend.get_texts(), texts, strict=True):
        shown.set_parse_math(False)
        shown.set_text(printable(text))
