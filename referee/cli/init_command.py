"""`referee init`, `referee serve` and `referee setup`: create a contest folder and serve it."""

from __future__ import annotations

import os
import shlex
from functools import partial
from pathlib import Path

import click

from lpirc_power.addresses.meter_address import MeterAddress
from lpirc_score.tasks import BOXES
from lpirc_testsets import load_test_set, synthesize
from lpirc_testsets.synthetic_truth import TASKS
from referee.cli.init_answers import (
    Given,
    attempts_option,
    backup_option,
    least_map_option,
    per_attempt_option,
    yes_option,
)
from referee.cli.number_types import WholeNumber
from referee.cli.output_paths import contest_to_make, folder_to_make
from referee.cli.port_as_folder import require_no_port
from referee.cli.shared_options import any_path, listening, listening_options
from referee.cli.station_addresses import require_addresses
from referee.config import CONFIG_NAME, LONGEST_WINDOW_S, config_of, read_config
from referee.config.contest_text import config_text, repeated_images
from referee.config.missing_contest import near_contest
from referee.contest import (
    create_contest,
    place_of,
    require_no_contest,
    require_task,
    require_truth,
)
from referee.errors import RefereeError
from referee.findings.backup_folder import make_backup_folder, require_backup_folder
from referee.findings.rule_findings import unguarded
from referee.presence import is_there

DEFAULT_IMAGES = 200
DEFAULT_CATEGORIES = 10


@click.command()
@click.argument("folder", type=contest_to_make)
@click.option("--name", help="The contest's name; default: the folder's.")
@click.option(
    "--testset", type=any_path, help="A test-set folder; default: a synthetic one."
)
@click.option(
    "--meter", default="sim:", show_default=True, help="The meter of the first station."
)
@click.option(
    "--window",
    "window_s",
    type=WholeNumber(1, LONGEST_WINDOW_S),
    default=600,
    show_default=True,
    help="Seconds.",
)
@click.option(
    "--task",
    default=BOXES,
    show_default=True,
    help="What teams answer: boxes, classification or another task.",
)
@click.option(
    "--auto-arm",
    is_flag=True,
    help="Arm a team's run when the team logs in, without an operator.",
)
@attempts_option
@per_attempt_option
@least_map_option
@backup_option
@yes_option
def init(
    folder: Path,
    name: str | None,
    testset: Path | None,
    meter: str,
    window_s: int,
    task: str,
    attempts: int | None,
    per_attempt: int | None,
    least_map: float | None,
    backup_folder: str | None,
    *,
    auto_arm: bool,
    yes: bool,
) -> None:
    """Make a contest folder: contest.toml, database, secret, and a test set if none is given.

    A test set in FOLDER or beside it is named relative to FOLDER, so both can be moved together.

    On a terminal the command asks for missing ones of the last four options; elsewhere, and with --yes, it takes and
    prints their defaults. By default no team gets an image twice, so that no run can use answers of an earlier one.
    """
    require_task(task, "--task")
    images = DEFAULT_IMAGES
    if testset is not None:
        given = load_test_set(testset)
        images = len(given.images)
        if task != BOXES:
            require_truth(given, task)
    MeterAddress(meter)
    require_no_contest(folder)
    if name is not None and not name.strip():
        words = (
            "--name is blank; name the contest, or leave it out for the folder's name."
        )
        raise click.UsageError(words)
    answers, taken = Given(
        attempts, per_attempt, least_map, backup_folder, yes
    ).complete(images)
    place = "testset" if testset is None else place_of(testset, folder)
    name = name or Path(os.path.realpath(folder)).name
    text = config_text(
        name,
        window_s,
        meter,
        place,
        auto_arm=auto_arm,
        answers=answers,
        task=task,
    )
    config_of(folder / CONFIG_NAME, text)  # raises before anything is made
    if answers.backup:
        require_backup_folder(folder, answers.backup)
    create_contest(folder, text)
    if taken:
        click.echo(f"Taken by default: {' '.join(taken)}", err=True)
    repeated = repeated_images(answers.attempts, answers.per_attempt, images)
    if repeated is not None:
        click.echo(f"Warning: {repeated}", err=True)
    if answers.backup:
        make_backup_folder(folder, answers.backup)
    if testset is None:
        click.echo(f"Preparing {folder / 'testset'}", err=True)
        synthesize(
            folder / "testset",
            images=DEFAULT_IMAGES,
            categories=DEFAULT_CATEGORIES,
            seed=1,
            task=task if task in TASKS else BOXES,
        )
    name = shlex.quote(str(folder))
    click.echo(
        f"Made {folder}. Next: referee team add NAME --contest {name}; referee serve {name}"
    )


@click.command()
@click.argument("folder", type=any_path)
@listening_options
def serve(
    folder: Path,
    host: str,
    port: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    parent: int | None,
) -> None:
    """Serve the contest in FOLDER until Ctrl-C.

    A folder that is missing or empty is set up in the browser first, as by `referee setup`.
    """
    # Importing the server takes a fifth of a second, which other commands need not wait for.
    from referee.web.server import serve as serve_contest
    from referee.web.setup.setup_server import needs_setup, set_up

    listen = listening(host, port, tls_cert, tls_key)
    if needs_setup(folder):
        require_no_port("serve", folder)
        _require_no_slip(folder)
        set_up(folder, listen, partial(_say, None), parent)
        return
    config = read_config(folder)
    require_addresses(folder, config)
    guard = None if listen.is_of_this_machine else unguarded(config)
    serve_contest(folder, listen, partial(_say, guard), parent)


def _require_no_slip(folder: Path) -> None:
    """Raise RefereeError `contest-missing` for a missing folder that is called nearly as a contest beside it."""
    near = "" if is_there(folder) else near_contest(folder, CONFIG_NAME)
    if near:
        new = f"For a new contest: referee setup {shlex.quote(str(folder))}"
        raise RefereeError(
            "contest-missing", f"There is no folder {folder}.{near} {new}"
        )


@click.command()
@click.argument("folder", type=folder_to_make)
@listening_options
def setup(
    folder: Path,
    host: str,
    port: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    parent: int | None,
) -> None:
    """Set up a contest in FOLDER in the browser, then serve it until Ctrl-C.

    The command prints the address with a code that one browser may use, once.
    """
    from referee.web.setup.setup_server import set_up

    listen = listening(host, port, tls_cert, tls_key)
    require_no_port("setup", folder)
    set_up(folder, listen, partial(_say, None), parent)


def _say(guard: str | None, ready: str) -> None:
    """Print that the contest is served, after the warning in `guard`, if any.

    A module-level function, so that it can be pickled for another process.
    """
    if guard is not None:
        click.echo(f"Warning: {guard}", err=True)
    click.echo(ready)
