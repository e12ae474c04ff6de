"""`referee suite run`: every test of a suite, one after the other."""

from __future__ import annotations

import hashlib
import json
import platform
import sys
import threading
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from referee.cli import harness
from referee.cli.harness import Limits
from referee.cli.options import as_json
from referee.cli.processes import endings_interrupt
from referee.clock import Clock
from referee.errors import RefereeError
from referee.files.atomic_write import real_path
from referee.tracks import track_named
from referee.tracks.rules.aiotbench import SuiteScore, scores
from referee.tracks.submissions.open_track import OpenTrack, first_images, track_on
from referee.tracks.submissions.result_document import parse_result
from referee.tracks.suites.log import SuiteRow, read_log, row_of, turn, write_flops, write_log
from referee.tracks.suites.plan import PlannedTest, SuitePlan, read_plan

RULE = "aiotbench"
DEFAULT_OUT = "suite.csv"
file_path = click.Path(path_type=Path)


@click.command("run")
@click.argument("file", type=file_path)
@click.option("--images", type=file_path, required=True, help="A test-set folder with labels.")
@click.option(
    "--out",
    type=file_path,
    default=DEFAULT_OUT,
    show_default=True,
    help="The table, CSV, to write or go on with.",
)
@click.option("--flops", type=file_path, help="Write the models' FLOPs as well, as `suite score` reads them.")
@as_json
def suite_run(file: Path, images: Path, out: Path, flops: Path | None, *, as_json: bool) -> None:
    """Measure every test of FILE (TOML), with a cool-down between two; a test that fails adds 0.

    Each test is in the table as soon as it is done: the same command goes on after an interruption.
    """
    is_file = flops is None or not flops.exists() or flops.is_file()
    if flops is not None and (real_path(flops) in (real_path(out), real_path(file)) or not is_file):
        raise click.UsageError(f"--flops {flops} must be a file of its own, neither the table nor the plan.")
    plan = read_plan(file)
    run = SuiteRun(plan, first_images(track_on(images, RULE, track_named(RULE)), plan.limit), out, Clock())
    try:
        with endings_interrupt(), turn(out):
            if flops is not None:
                write_flops(flops, plan.mflops)
            rows = run.measure()
    except KeyboardInterrupt:
        count = len(read_log(out))
        told = "1 test is" if count == 1 else f"{count} tests are"
        click.echo(f"referee: interrupted; {told} in {out}, and the same command goes on.", err=True)
        sys.exit(130)
    (found,) = scores([row.test for row in rows], plan.mflops)
    if as_json:
        figures = [
            {"accuracy_percent": row.test.accuracy_percent, "time_ms": row.test.time_ms} for row in rows
        ]
        tests = [asdict(row) | own for row, own in zip(rows, figures, strict=True)]
        document = {"tests": tests, "scores": [asdict(found)]}
        click.echo(json.dumps(document))
    else:
        _print(rows, found)


@dataclass(frozen=True)
class SuiteRun:
    """One run of a plan on a track's images, into a table that may hold tests of other devices as well."""

    plan: SuitePlan
    track: OpenTrack
    out: Path
    clock: Clock

    def measure(self) -> list[SuiteRow]:
        """The rows of all tests, in the plan's order. Raises RefereeError for a failure that is not a model's."""
        table, done, has_measured = read_log(self.out), [], False
        for test in self.plan.tests:
            blank = self._blank(test)
            row = row_of(table, blank, self.out)
            if is_new := row is None:
                if has_measured:
                    self._cool_down()
                row, has_measured = self._measured(test, blank), True
                table.append(row)
                write_log(self.out, table)
            done.append(row)
            self._tell(test, row, is_new=is_new)
        return done

    def _blank(self, test: PlannedTest) -> SuiteRow:
        return SuiteRow(
            device=self.plan.device or platform.node(),
            implementation=test.implementation,
            model=test.model,
            accuracy_percent="",
            time_ms="",
            images=str(len(self.track.test_set.images)),
            model_sha256=hashlib.sha256(test.file.read_bytes()).hexdigest(),
            images_sha256=self.track.images_sha256,
            sentence="",
        )

    def _measured(self, test: PlannedTest, blank: SuiteRow) -> SuiteRow:
        options = dict(test.options)
        threads = int(options.pop("threads", self.track.rule.threads))
        limits = Limits(limit=len(self.track.test_set.images), **options)  # type: ignore[arg-type]
        try:
            content = harness.bench(
                test.file, self.track.test_set.folder, self.track.rule, None, limits, threads=threads
            )
        except RefereeError as failure:
            if not harness.is_model_fault(failure.code):
                raise
            return replace(blank, sentence=failure.sentence)
        document = parse_result(content)
        expected = {"images.sha256": blank.images_sha256, "model.sha256": blank.model_sha256}
        for path, value in expected.items():
            if document[path] != value:
                raise RefereeError("suite-changed", f"{test.name}: {path} changed while it was measured.")
        accuracy = self.track.accuracy_percent(document)
        return replace(blank, accuracy_percent=repr(accuracy), time_ms=repr(document["latency.mean_ms"]))

    def _cool_down(self) -> None:
        if self.plan.cooldown_s:
            click.echo(f"cooling down for {self.plan.cooldown_s:g} s", err=True)
            self.clock.wait(threading.Event(), self.clock.monotonic_s() + self.plan.cooldown_s)

    def _tell(self, test: PlannedTest, row: SuiteRow, *, is_new: bool) -> None:
        found = row.test
        figures = f"failed: {row.sentence}"
        if not row.sentence:
            figures = f"{found.accuracy_percent:.3f} % in {found.time_ms:.3f} ms"
        click.echo(f"{test.name}: {figures}{'' if is_new else f' (from {self.out})'}", err=True)


def _print(rows: list[SuiteRow], found: SuiteScore) -> None:
    table = Table("model", "implementation", title=found.device, title_justify="left")
    for heading in ("accuracy %", "time ms", "images/s"):
        table.add_column(heading, justify="right")
    for row in rows:
        test = row.test
        shown = ["failed", ""] if row.sentence else [f"{test.accuracy_percent:.3f}", f"{test.time_ms:.3f}"]
        table.add_row(row.model, row.implementation, *shown, f"{test.images_per_s:.2f}")
    console = Console(soft_wrap=True, highlight=False, markup=False)
    console.print(table)
    console.print(f"VIPS {found.vips:.2f} images/s, VOPS {found.vops_gflops:.2f} GFLOP/s")
