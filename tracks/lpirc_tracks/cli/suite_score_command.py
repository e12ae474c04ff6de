"""`referee suite score`: VIPS and VOPS of the devices in a table."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from lpirc_score.cli.framed_tables import figures_table, print_framed
from lpirc_tracks.cli.suite_place import plan_in
from lpirc_tracks.rules.aiotbench import SuiteScore, scores
from lpirc_tracks.suites.device_scores import (
    by_origin,
    device_scores,
    grouped,
)
from lpirc_tracks.suites.suite_file import TABLE_NAME
from lpirc_tracks.suites.suite_plan import SuitePlan, read_plan
from lpirc_tracks.suites.suite_table import read_flops, read_rows, read_tests
from referee.cli.shared_options import any_path, as_json
from referee.errors import RefereeError
from referee.presence import is_folder


@click.command("score")
@click.argument("file", type=any_path)
@click.option("--flops", type=any_path, help="CSV `model,mflops`, for a CSV.")
@click.option(
    "--suite", type=any_path, help="The suite's folder or plan, instead of --flops."
)
@as_json
def score_command(
    file: Path, flops: Path | None, suite: Path | None, *, as_json: bool
) -> None:
    """VIPS and VOPS of every device in FILE, the folder of a suite or a CSV of its tests.

    The columns of the CSV are `device,implementation,model,accuracy_percent,time_ms`. A line without accuracy and time
    is a missing test, which adds 0. With a suite, so is each of its tests that has no line.
    """
    is_whole = is_folder(file)
    if (flops is not None) + (suite is not None) + is_whole != 1:
        problem = "Give one of --flops FLOPS.csv and --suite FOLDER with the CSV of a table, or a suite's folder alone."
        raise click.UsageError(problem)
    if flops is not None:
        mflops = read_flops(flops)
        found = scores(read_tests(file, mflops), mflops)
        if as_json:
            click.echo(json.dumps(_document(found), allow_nan=False))
            return
        lacking = [", ".join(one.missing) for one in found]
        _print_scores(found, "tests not included", lacking)
        return
    table = file / TABLE_NAME if is_whole else file
    _score_by_suite(suite or file, table, as_json=as_json)


def _score_by_suite(suite: Path, table: Path, *, as_json: bool) -> None:
    plan = read_plan(plan_in(suite))
    rows = read_rows(table)
    if not rows:
        run_words = f"referee suite run {shlex.quote(str(suite))} --images TESTSET"
        sentence = f"{table} has no test; measure some with: {run_words}"
        raise RefereeError("nothing-measured", sentence)
    found = device_scores(plan, rows)
    if as_json:
        click.echo(json.dumps(asdict(found), allow_nan=False))
        return
    suite_plan, own_plan = by_origin(plan)
    _print_sums(found.scores, suite_plan)
    if found.own_scores:
        click.echo("Tests of your own, beside the suite:")
        _print_sums(found.own_scores, own_plan)
    for note in found.notes:
        click.echo(f"{note}.")


def _print_sums(found: Sequence[SuiteScore], plan: SuitePlan) -> None:
    """Print the scores of a suite's devices, and below them which tests they lack."""
    planned = len(plan.tests)
    counts = [f"{planned - len(one.missing)} of {planned}" for one in found]
    _print_scores(found, "tests", counts)
    for one in found:
        if one.missing:
            click.echo(
                f"{one.device}: not included: {grouped(one, plan)}. Compare its sums only "
                "with sums over the same tests."
            )


def _document(found: Sequence[SuiteScore]) -> dict[str, object]:
    return {"scores": [asdict(one) for one in found]}


def _print_scores(
    found: Sequence[SuiteScore], heading: str, words: Sequence[str]
) -> None:
    figures = ("VIPS images/s", "VOPS GFLOP/s", heading)
    table = figures_table("device", figures=figures)
    for one, last in zip(found, words, strict=True):
        sums = (f"{one.vips:.2f}", f"{one.vops_gflops:.2f}")
        table.add_row(one.device, *sums, last)
    print_framed(table)
