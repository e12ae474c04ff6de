"""Precision-recall curves to a file: a table for .csv, a drawing for .png and .svg."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from referee.errors import RefereeError
from referee.files.atomic_write import write_whole
from referee.files.plots import drawn, printable, require_drawing_place
from referee.scoring.curves import Curve

SUFFIXES = (".csv", ".png", ".svg")
HEADER = ("category", "name", "rank", "recall", "precision", "confidence")
_MOST_IN_LEGEND = 20
_COLOURS = 10  # of matplotlib's cycle; after them the next style tells curves apart
_STYLES = ("-", "--", ":", "-.")


def check_curve_path(path: Path) -> None:
    """Raise `RefereeError` `bad-curves-file` unless the name tells a form and a file can be written there."""
    require_drawing_place(path, SUFFIXES, "bad-curves-file")


def write_curves(path: Path, curves: Mapping[int, Curve], names: Mapping[int, str], title: str) -> None:
    """Write the curves by category id; `names` are those of the categories.

    Raises `RefereeError` `bad-curves-file`, `curves-not-written`, `no-matplotlib`.
    """
    check_curve_path(path)
    form = path.suffix.lower().removeprefix(".")
    if form == "csv":
        content = _table(curves, names).encode()
    else:
        content = drawn(form, lambda figure: _draw(figure, curves, names, title))
    try:
        write_whole(path, content)
    except OSError as error:
        sentence = f"{path}: the curves cannot be written: {error.strerror or error}"
        raise RefereeError("curves-not-written", sentence, file=str(path)) from error


def _table(curves: Mapping[int, Curve], names: Mapping[int, str]) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(HEADER)
    for category, curve in curves.items():
        columns = (curve.rank, curve.recall, curve.precision, curve.confidence)
        for row in zip(*(column.tolist() for column in columns), strict=True):
            writer.writerow((category, names[category], *row))
    return text.getvalue()


def _draw(figure: Any, curves: Mapping[int, Curve], names: Mapping[int, str], title: str) -> None:
    axes = figure.add_subplot(xlim=(0, 1), ylim=(0, 1.02), xlabel="recall", ylabel="precision", title=title)
    lines = []
    for place, curve in enumerate(curves.values()):
        # A category without true positives keeps its place in the legend: precision 0 at recall 0.
        points = (curve.recall, curve.precision) if len(curve.rank) else ([0.0], [0.0])
        style = _STYLES[place // _COLOURS % len(_STYLES)]
        lines += axes.plot(*points, style, marker=".", markersize=3, linewidth=1)
    axes.grid(alpha=0.3)
    if not any(len(curve.rank) for curve in curves.values()):
        at_centre = {"transform": axes.transAxes, "ha": "center"}
        axes.text(0.5, 0.5, "no detection found an object", color="0.4", **at_centre)
    if 0 < len(curves) <= _MOST_IN_LEGEND:
        legend = axes.legend(
            lines, [" "] * len(lines), fontsize="small", loc="upper left", bbox_to_anchor=(1.01, 1)
        )
        for text, category in zip(legend.get_texts(), curves, strict=True):
            # A name is text, also one that holds a dollar sign or begins as those that a legend hides.
            text.set_parse_math(False)
            text.set_text(printable(names[category]))
