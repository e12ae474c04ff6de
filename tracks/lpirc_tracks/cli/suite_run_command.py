"""`referee suite run`: measures the tests of a suite that can run on this device."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import click

from lpirc_score.cli.framed_tables import figures_table, print_framed
from lpirc_score.files.atomic_write import real_path, require_writable
from lpirc_tracks import track_named
from lpirc_tracks.cli.suite_place import SuitePlace, suite_place
from lpirc_tracks.cli.suite_status_command import counts_of, survey
from lpirc_tracks.rules.aiotbench import AIOTBENCH, SuiteScore
from lpirc_tracks.submissions.open_track import first_images, track_on
from lpirc_tracks.suites.device_scores import (
    DeviceScores,
    by_origin,
    grouped,
    sums,
)
from lpirc_tracks.suites.implementations import runtimes_here
from lpirc_tracks.suites.readiness import Readiness, State, device_name
from lpirc_tracks.suites.suite_plan import SuitePlan, read_plan
from lpirc_tracks.suites.suite_run import SuiteRun
from lpirc_tracks.suites.suite_table import (
    SuiteRow,
    read_rows,
    table_lock,
    write_flops,
)
from referee.cli.child_processes import interruption_reported
from referee.cli.output_paths import output_path
from referee.cli.shared_options import any_path, as_json
from referee.clock import Clock
from referee.errors import RefereeError


@click.command("run")
@click.argument("file", type=any_path)
@click.option(
    "--images", type=any_path, required=True, help="Test-set folder with labels."
)
@click.option(
    "--out",
    type=output_path,
    help="CSV file of the table, to write or to continue; default: suite.csv, in FILE if that is a folder.",
)
@click.option(
    "--flops",
    type=output_path,
    help="Also write the models' FLOPs, as `suite score` reads them.",
)
@as_json
def run_command(
    file: Path, images: Path, out: Path | None, flops: Path | None, *, as_json: bool
) -> None:
    """Measure every test of FILE, a suite's folder or plan (TOML); a test that fails adds 0.

    Between tests there is a pause to cool down. Each test is in the table as soon as it is done: the same command
    continues after an interruption. Tests that cannot run on this device, or whose model is missing, are left out.
    """
    place = suite_place(file, out)
    if flops is not None:
        if real_path(flops) in (real_path(place.table), real_path(place.plan)):
            raise click.UsageError(
                f"--flops {flops} must be a different file from the table and the plan."
            )
        require_writable(flops)
    plan = read_plan(place.plan)
    rule = track_named(AIOTBENCH.name)
    track = first_images(track_on(images, AIOTBENCH.name, rule), plan.limit)
    with interruption_reported(partial(_kept, place.table)), table_lock(place.table):
        runnable, others = _split(place, plan)
        run = SuiteRun(runnable, track, place.table, Clock(), _say)
        if flops is not None:
            write_flops(flops, plan.mflops)
        rows = run.measure()
        rows += [run.row_without_model(one) for one in others]
    found = sums(plan, [row.test for row in rows])
    if as_json:
        document = {
            "tests": [_test_document(row) for row in rows],
            "scores": [asdict(one) for one in found.scores],
            "own_scores": [asdict(one) for one in found.own_scores],
        }
        click.echo(json.dumps(document))
        return
    _print_run(plan, rows, found)
    _say(f"Next: referee suite score {place.score_words}")


def _say(line: str) -> None:
    click.echo(line, err=True)


def _split(
    place: SuitePlace, plan: SuitePlan
) -> tuple[SuitePlan, tuple[Readiness, ...]]:
    """Return the plan of the tests whose models are there, and the other tests.

    Raises RefereeError `suite-faulty` if anything must be corrected first, `nothing-to-run` if no test is left.
    """
    found = survey(place, plan, runtimes_here())
    wrong = [one for one in found if one.state == State.WRONG]
    again = f"referee suite status {place.words}"
    if wrong:
        for one in wrong:
            _say(f"{one.test.name}: {one.sentence}.")
        tests = "1 test is" if len(wrong) == 1 else f"{len(wrong)} tests are"
        sentence = f"{tests} not as {place.plan} says; nothing was measured; correct that, then: {again}"
        raise RefereeError("suite-faulty", sentence)
    runnable = tuple(one.test for one in found if one.has_model)
    others = tuple(one for one in found if not one.has_model)
    if not runnable:
        sentence = f"No test of {place.plan} can be measured yet: {counts_of(found)}; see: {again}"
        raise RefereeError("nothing-to-run", sentence)
    _report_left_out([one for one in others if one.row is None])
    return replace(plan, tests=runnable), others


def _report_left_out(others: list[Readiness]) -> None:
    """Name the tests that are not measured, those with the same reason in one line."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for one in others:
        key = (one.test.implementation, one.sentence)
        by_reason.setdefault(key, []).append(one.test.model)
    for (implementation, sentence), models in by_reason.items():
        _say(f"left out, {implementation} of {', '.join(models)}: {sentence}")


def _kept(out: Path) -> str:
    count = len(read_rows(out))
    return f"{'1 test is' if count == 1 else f'{count} tests are'} in {out}; run the same command again to continue."


def _test_document(row: SuiteRow) -> dict[str, object]:
    test = row.test
    figures = {"accuracy_percent": test.accuracy_percent, "time_ms": test.time_ms}
    return asdict(row) | figures


def _print_run(plan: SuitePlan, rows: list[SuiteRow], found: DeviceScores) -> None:
    headings = ("accuracy %", "time ms", "images/s")
    table = figures_table(
        "model", "implementation", figures=headings, title=device_name(plan)
    )
    measured = [row for row in rows if row.model_sha256]
    for row in measured:
        test = row.test
        figures = (
            ["failed", ""]
            if row.sentence
            else [f"{test.accuracy_percent:.3f}", f"{test.time_ms:.3f}"]
        )
        table.add_row(
            row.model, row.implementation, *figures, f"{test.images_per_s:.2f}"
        )
    print_framed(table)
    suite, own = by_origin(plan)
    for score in found.scores:
        _print_sums("", score, suite)
    for score in found.own_scores:
        _print_sums("Tests of your own: ", score, own)


def _print_sums(head: str, score: SuiteScore, plan: SuitePlan) -> None:
    lacking = f"; tests not included: {grouped(score, plan)}" if score.missing else ""
    click.echo(
        f"{head}VIPS {score.vips:.2f} images/s, VOPS {score.vops_gflops:.2f} GFLOP/s{lacking}"
    )
