"""`referee suite`: AIoTBench's table of tests."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from referee.cli.options import as_json
from referee.tracks.rules.aiotbench import SuiteScore, scores
from referee.tracks.suites.files import read_flops, read_tests

file_path = click.Path(path_type=Path)


@click.group()
def suite() -> None:
    """AIoTBench: models in several implementations, scored by device."""


@suite.command("score")
@click.argument("file", type=file_path)
@click.option("--flops", type=file_path, required=True, help="CSV `model,mflops`.")
@as_json
def score_command(file: Path, flops: Path, *, as_json: bool) -> None:
    """VIPS and VOPS of every device in FILE, a CSV `device,implementation,model,accuracy_percent,time_ms`.

    A line without accuracy and time is a missing test, which adds 0.
    """
    mflops = read_flops(flops)
    found = scores(read_tests(file, mflops), mflops)
    if as_json:
        click.echo(json.dumps({"scores": [asdict(one) for one in found]}, allow_nan=False))
    else:
        _print(found)


def _print(found: tuple[SuiteScore, ...]) -> None:
    table = Table("device")
    for heading in ("VIPS images/s", "VOPS GFLOP/s"):
        table.add_column(heading, justify="right")
    for one in found:
        table.add_row(one.device, f"{one.vips:.2f}", f"{one.vops_gflops:.2f}")
    Console(soft_wrap=True, highlight=False, markup=False).print(table)
