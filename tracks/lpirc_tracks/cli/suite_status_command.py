"""`referee suite init|status`: a published suite in a folder, and what each of its tests lacks on this device."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from lpirc_score.cli.terminal_tables import Column, print_table
from lpirc_tracks import track_named
from lpirc_tracks.cli.suite_place import SuitePlace, suite_place
from lpirc_tracks.rules.aiotbench import AIOTBENCH
from lpirc_tracks.suites.implementations import DeviceRuntimes, runtimes_here
from lpirc_tracks.suites.readiness import Readiness, State, Survey, device_name
from lpirc_tracks.suites.suite_file import MODELS_NAME, SUITES
from lpirc_tracks.suites.suite_plan import SuitePlan, read_plan
from lpirc_tracks.suites.suite_table import read_rows
from referee.cli.shared_options import any_path, as_json
from referee.errors import RefereeError

COLUMNS = tuple(map(Column, ("implementation", "model", "state", "")))
TESTSET = "a folder of labelled images, made by: referee testset import labels"
INSTALL = 'pip install "./client[models]"'


@click.command("init")
@click.argument("name")
@click.option("--out", type=any_path, help="The new folder; default: the suite's name.")
def init_command(name: str, out: Path | None) -> None:
    """Make a folder with the file of a published suite: aiotbench.

    It lists the suite's models, with what is published of each, and says which of its tests can run on this device.
    Nothing is downloaded.
    """
    if name not in SUITES:
        known = ", ".join(SUITES)
        raise RefereeError(
            "unknown-suite", f"There is no suite {name!r}; the suites are: {known}."
        )
    folder = out or Path(name)
    plan = read_plan(SUITES[name](folder))
    place = suite_place(folder)
    click.echo(
        f"Made {place.plan}: the {_models(plan)} models of {AIOTBENCH.title}, for {len(plan.tests)} tests."
    )
    _print_survey(place, plan)


@click.command("status")
@click.argument("file", type=any_path)
@click.option(
    "--out", type=any_path, help="CSV file of the table, as given to suite run."
)
@as_json
def status_command(file: Path, out: Path | None, *, as_json: bool) -> None:
    """Say of each test of FILE, a suite's folder or plan, whether it is measured or what it lacks on this device.

    Each model's file is loaded once, as by `referee model validate`.
    """
    place = suite_place(file, out)
    plan = read_plan(place.plan)
    if as_json:
        device = runtimes_here()
        click.echo(json.dumps(_document(place, plan, device)))
        return
    _print_survey(place, plan)


def survey(
    place: SuitePlace, plan: SuitePlan, device: DeviceRuntimes
) -> list[Readiness]:
    """Look at all tests of a plan on this device. Raises RefereeError as `Survey.look`."""
    rule = track_named(AIOTBENCH.name)
    return Survey(plan, place.table, read_rows(place.table), device, rule).look()


def counts_of(found: Sequence[Readiness]) -> str:
    """Return how many tests are in each state: "6 missing, 18 cannot run"."""
    counts = Counter(one.state for one in found)
    return ", ".join(f"{counts[state]} {state}" for state in State if counts[state])


def _document(
    place: SuitePlace, plan: SuitePlan, device: DeviceRuntimes
) -> dict[str, object]:
    found = survey(place, plan, device)
    return {
        "device": device_name(plan),
        "system": device.system,
        "runtimes": sorted(device.installed),
        "tests": [_test_document(one) for one in found],
        "counts": Counter(str(one.state) for one in found),
        "next": next_step(place, found),
    }


def _test_document(one: Readiness) -> dict[str, object]:
    test = one.test
    return {
        "implementation": test.implementation,
        "model": test.model,
        "state": str(one.state),
        "sentence": one.sentence,
        "file": None if test.file is None else str(test.file),
        "sha256": one.sha256 or None,
        "input_shape": list(one.input_shape) or None,
        "published_percent": test.stated.accuracy_percent,
    }


def _print_survey(place: SuitePlace, plan: SuitePlan) -> None:
    device = runtimes_here()
    found = survey(place, plan, device)
    rows = [
        (one.test.implementation, one.test.model, str(one.state), _words(one))
        for one in found
    ]
    caption = (
        f"{len(found)} tests on {device_name(plan)}: {counts_of(found)}. "
        f"Runtimes installed here: {device.titles}."
    )
    print_table(COLUMNS, rows, caption)
    click.echo(f"Next: {next_step(place, found)}")


def _words(one: Readiness) -> str:
    if one.state == State.MEASURED and one.row is not None:
        figures = one.row.test
        return f"{figures.accuracy_percent:.3f} % in {figures.time_ms:.3f} ms"
    if one.state == State.READY and one.input_shape:
        return f"input {list(one.input_shape)}, SHA-256 {one.sha256}"
    return one.sentence


def next_step(place: SuitePlace, found: Sequence[Readiness]) -> str:
    """Return what to do next, with the command."""
    states = {one.state for one in found}
    again = f"referee suite status {place.words}"
    if State.WRONG in states:
        return f"correct what is wrong, then: {again}"
    if State.READY in states:
        return f"referee suite run {place.words} --images TESTSET, {TESTSET}"
    if State.MISSING in states and State.MEASURED not in states:
        folder = shlex.quote(str(place.plan.parent / MODELS_NAME))
        return (
            f"put the models' files into {folder}; their rows in {place.plan} name the "
            f"sources, and need mean and sigma for float32 models; then: {again}"
        )
    if states & {State.MEASURED, State.FAILED}:
        return f"referee suite score {place.score_words}"
    return f"{INSTALL}, in the project's folder, then: {again}"


def _models(plan: SuitePlan) -> int:
    """Return the number of rows of [[models]]."""
    rows = {
        (test.model, test.published.framework)
        for test in plan.tests
        if test.published is not None
    }
    return len(rows)
