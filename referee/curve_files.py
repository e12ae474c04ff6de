"""Precision-recall curves to a file: a table for .csv, a drawing for .png and .svg."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from referee.errors import RefereeError
from referee.scoring.curves import Curve

SUFFIXES = (".csv", ".png", ".svg")
HEADER = ("category", "name", "rank", "recall", "precision", "confidence")
_MOST_IN_LEGEND = 20
_COLOURS = 10  # of matplotlib's cycle; after them the next style tells curves apart
_STYLES = ("-", "--", ":", "-.")


def check_curve_path(path: Path) -> None:
    """Raise `RefereeError` `bad-curves-file` unless the name tells a form that can be written."""
    if path.suffix.lower() not in SUFFIXES:
        sentence = f"{path}: curves are written to a file that ends in {', '.join(SUFFIXES)}"
        raise RefereeError("bad-curves-file", sentence, file=str(path))


def write_curves(path: Path, curves: Mapping[int, Curve], names: Mapping[int, str], title: str) -> None:
    """Write the curves by category id; `names` are those of the categories.

    Raises `RefereeError` `bad-curves-file`, `curves-not-written`, `no-matplotlib`.
    """
    check_curve_path(path)
    try:
        if path.suffix.lower() == ".csv":
            _write_csv(path, curves, names)
        else:
            _draw(path, curves, names, title)
    except OSError as error:
        sentence = f"{path}: the curves cannot be written: {error.strerror or error}"
        raise RefereeError("curves-not-written", sentence, file=str(path)) from error


def _write_csv(path: Path, curves: Mapping[int, Curve], names: Mapping[int, str]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(HEADER)
        for category, curve in curves.items():
            columns = (curve.rank, curve.recall, curve.precision, curve.confidence)
            for row in zip(*(column.tolist() for column in columns), strict=True):
                writer.writerow((category, names[category], *row))


def _draw(path: Path, curves: Mapping[int, Curve], names: Mapping[int, str], title: str) -> None:
    figure = _new_figure(path)
    axes = figure.add_subplot(xlim=(0, 1), ylim=(0, 1.02), xlabel="recall", ylabel="precision", title=title)
    for place, (category, curve) in enumerate(curves.items()):
        # A category without true positives keeps its place in the legend: precision 0 at recall 0.
        points = (curve.recall, curve.precision) if len(curve.rank) else ([0.0], [0.0])
        style = _STYLES[place // _COLOURS % len(_STYLES)]
        axes.plot(*points, style, marker=".", markersize=3, linewidth=1, label=names[category])
    axes.grid(alpha=0.3)
    if 0 < len(curves) <= _MOST_IN_LEGEND:
        axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.01, 1))
    metadata = {"Date": None} if path.suffix.lower() == ".svg" else None
    figure.savefig(path, metadata=metadata)


def _new_figure(path: Path) -> Any:
    try:
        from matplotlib.figure import Figure  # takes a second, and only drawings need it
    except ImportError:
        sentence = f"{path}: drawing needs matplotlib, which is not installed; write to a .csv instead"
        raise RefereeError("no-matplotlib", sentence) from None
    return Figure(figsize=(8, 5), dpi=150, layout="constrained")
