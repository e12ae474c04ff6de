"""`referee suite run|score`: AIoTBench's models in several implementations, scored by device."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from pathlib import Path

import click

from lpirc_score.cli.terminal_tables import console, figures_table
from lpirc_score.files.atomic_write import real_path, require_writable
from lpirc_tracks import track_named
from lpirc_tracks.rules.aiotbench import SuiteScore, scores
from lpirc_tracks.submissions.open_track import first_images, track_on
from lpirc_tracks.suites.suite_plan import read_plan
from lpirc_tracks.suites.suite_run import SuiteRun
from lpirc_tracks.suites.suite_table import (
    SuiteRow,
    read_flops,
    read_rows,
    read_tests,
    table_lock,
    write_flops,
)
from referee.cli.child_processes import interruption_reported
from referee.cli.shared_options import any_path, as_json
from referee.clock import Clock

RULE = "aiotbench"
DEFAULT_OUT = "suite.csv"


@click.group()
def suite() -> None:
    """AIoTBench: models in several implementations, scored by device."""


@suite.command("score")
@click.argument("file", type=any_path)
@click.option("--flops", type=any_path, required=True, help="CSV `model,mflops`.")
@as_json
def score_command(file: Path, flops: Path, *, as_json: bool) -> None:
    """VIPS and VOPS of every device in FILE, a CSV `device,implementation,model,accuracy_percent,time_ms`.

    A line without accuracy and time is a missing test, which adds 0.
    """
    mflops = read_flops(flops)
    found = scores(read_tests(file, mflops), mflops)
    if as_json:
        click.echo(
            json.dumps({"scores": [asdict(one) for one in found]}, allow_nan=False)
        )
        return
    table = figures_table(
        "device",
        figures=("VIPS images/s", "VOPS GFLOP/s", "tests not included"),
    )
    for one in found:
        table.add_row(
            one.device,
            f"{one.vips:.2f}",
            f"{one.vops_gflops:.2f}",
            ", ".join(one.missing),
        )
    console().print(table)


@suite.command("run")
@click.argument("file", type=any_path)
@click.option(
    "--images", type=any_path, required=True, help="Test-set folder with labels."
)
@click.option(
    "--out",
    type=any_path,
    default=DEFAULT_OUT,
    show_default=True,
    help="CSV file of the table, to write or to continue.",
)
@click.option(
    "--flops",
    type=any_path,
    help="Also write the models' FLOPs, as `suite score` reads them.",
)
@as_json
def run_command(
    file: Path, images: Path, out: Path, flops: Path | None, *, as_json: bool
) -> None:
    """Measure every test of FILE (TOML), with a pause to cool down between tests; a test that fails adds 0.

    Each test is in the table as soon as it is done: the same command continues after an interruption.
    """
    if flops is not None:
        if real_path(flops) in (real_path(out), real_path(file)):
            raise click.UsageError(
                f"--flops {flops} must be a different file from the table and the plan."
            )
        require_writable(flops)
    plan = read_plan(file)
    track = first_images(track_on(images, RULE, track_named(RULE)), plan.limit)
    run = SuiteRun(plan, track, out, Clock(), lambda line: click.echo(line, err=True))
    with interruption_reported(partial(_kept, out)), table_lock(out):
        if flops is not None:
            write_flops(flops, plan.mflops)
        rows = run.measure()
    (score,) = scores([row.test for row in rows], plan.mflops)
    if as_json:
        tests = [
            asdict(row)
            | {
                "accuracy_percent": row.test.accuracy_percent,
                "time_ms": row.test.time_ms,
            }
            for row in rows
        ]
        click.echo(json.dumps({"tests": tests, "scores": [asdict(score)]}))
    else:
        _print_run(rows, score)


def _kept(out: Path) -> str:
    count = len(read_rows(out))
    return f"{'1 test is' if count == 1 else f'{count} tests are'} in {out}; run the same command again to continue."


def _print_run(rows: list[SuiteRow], score: SuiteScore) -> None:
    headings = ("accuracy %", "time ms", "images/s")
    table = figures_table(
        "model", "implementation", figures=headings, title=score.device
    )
    for row in rows:
        test = row.test
        figures = (
            ["failed", ""]
            if row.sentence
            else [f"{test.accuracy_percent:.3f}", f"{test.time_ms:.3f}"]
        )
        table.add_row(
            row.model, row.implementation, *figures, f"{test.images_per_s:.2f}"
        )
    console().print(table)
    lacking = (
        f"; tests not included: {', '.join(score.missing)}" if score.missing else ""
    )
    console().print(
        f"VIPS {score.vips:.2f} images/s, VOPS {score.vops_gflops:.2f} GFLOP/s{lacking}"
    )
