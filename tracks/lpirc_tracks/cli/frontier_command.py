"""`referee frontier`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from lpirc_score.cli.framed_tables import figures_table, print_framed
from lpirc_score.cli.number_type import Number
from lpirc_score.files.csv_tables import read_table
from lpirc_tracks import Aim
from lpirc_tracks.frontier import BASES, Fit, fit
from lpirc_tracks.frontier_plot import Plot, PlotPoint, check_plot_path
from lpirc_tracks.measured import LEAST, MOST
from referee.cli.shared_options import any_path, as_json

COLUMNS = ("latency_ms", "accuracy")
POINT_KEYS = ("label", *COLUMNS, "residual")
ALIASES = {
    "T": "latency_ms",
    "A": "accuracy",
    "time_ms": "latency_ms",
    "accuracy_percent": "accuracy",
}


def _latency(
    ctx: click.Context, param: click.Parameter, value: float | None
) -> float | None:
    if (
        value is not None and not LEAST <= value <= MOST
    ):  # click.FloatRange lets NaN pass
        raise click.BadParameter(f"{value} is not a latency in ms above 0.", ctx, param)
    return value


@click.group()
def frontier() -> None:
    """Print the accuracy to expect at a latency: a(t) = k log t + a0."""


@frontier.command("fit")
@click.argument("file", type=any_path)
@click.option(
    "--base",
    type=click.Choice([*BASES]),
    default="e",
    show_default=True,
    help="Base of the logarithm.",
)
@click.option(
    "--target",
    "target_ms",
    type=Number(),
    callback=_latency,
    help="The target latency in ms; default: no target.",
)
@click.option(
    "--plot",
    "plot_path",
    type=any_path,
    help="Draw points and curve to a .png or .svg.",
)
@as_json
def fit_command(
    file: Path,
    base: str,
    target_ms: float | None,
    plot_path: Path | None,
    *,
    as_json: bool,
) -> None:
    """Fit a frontier to the points of FILE, a CSV `latency_ms,accuracy` (percent); a column `label` names them.

    The header may be `T,A`, or be missing.
    """
    if plot_path is not None:
        check_plot_path(plot_path)
    points = _read_points(file)
    latencies = [point.latency_ms for point in points]
    found = fit(
        latencies, [point.accuracy_percent for point in points], BASES[base], target_ms
    )
    if plot_path is not None:
        aim = None if target_ms is None else Aim("target", target_ms)
        Plot(points, found.frontier.at, aim, found.frontier.sentence).write(plot_path)
    for warning in found.warnings:
        click.echo(f"referee: warning: {warning}", err=True)
    if as_json:
        click.echo(
            json.dumps(as_document(found, base, points, target_ms), allow_nan=False)
        )
    else:
        _print(found, base, points, target_ms)


def as_document(
    found: Fit, base: str, points: list[PlotPoint], target_ms: float | None
) -> dict[str, Any]:
    """Return the JSON document: floats have full precision; residuals are accuracy minus frontier, in percent."""
    return {
        "k": found.frontier.k,
        "a0": found.frontier.a0,
        "base": base,
        "points": [
            dict(zip(POINT_KEYS, (one.label, *one.place, residual), strict=True))
            for one, residual in zip(points, found.residuals, strict=True)
        ],
        "rms": found.rms,
        "r_squared": found.r_squared,
        "target_ms": target_ms,
        "accuracy_at_target": None
        if target_ms is None
        else found.frontier.at(target_ms),
        "warnings": list(found.warnings),
    }


def _read_points(path: Path) -> list[PlotPoint]:
    return [
        PlotPoint(
            row.cells.get("label", ""),
            row.number("latency_ms", LEAST, MOST),
            row.number("accuracy", 0, 100),
        )
        for row in read_table(path, COLUMNS, ALIASES)
    ]


def _print(
    found: Fit, base: str, points: list[PlotPoint], target_ms: float | None
) -> None:
    headings = ("latency ms", "accuracy %", "frontier %", "residual")
    table = figures_table("", figures=headings, title=found.frontier.sentence)
    for point, residual in zip(points, found.residuals, strict=True):
        expected = found.frontier.at(point.latency_ms)
        accuracy = f"{point.accuracy_percent:.3f}"
        table.add_row(
            point.label,
            f"{point.latency_ms:g}",
            accuracy,
            f"{expected:.3f}",
            f"{residual:+.3f}",
        )
    print_framed(table)
    r_squared = "none" if found.r_squared is None else f"{found.r_squared:.5f}"
    lines = [
        f"RMS {found.rms:.4f} percent points, R² {r_squared}, {len(points)} points"
    ]
    if target_ms is not None:
        lines.append(
            f"{found.frontier.at(target_ms):.3f} % at the target {target_ms:g} ms"
        )
    lines += [
        f"k = {found.frontier.k!r}",
        f"a0 = {found.frontier.a0!r}",
        f'base = "{base}"',
    ]
    if target_ms is not None:
        lines.append(f"target_ms = {target_ms!r}")
    click.echo("\n".join(lines))
