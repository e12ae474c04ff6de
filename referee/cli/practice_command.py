"""`referee practice`: a referee server on one's own machine, which arms and judges by itself."""

from __future__ import annotations

import json
import re
import secrets
import threading
from contextlib import ExitStack
from pathlib import Path
from shlex import quote

import click

from lpirc_score.files.atomic_write import write_atomically
from lpirc_score.tasks import BOXES
from lpirc_score.tasks.words import words_of
from lpirc_testsets import load_test_set, synthesize
from lpirc_testsets.synthetic_truth import TASKS
from lpirc_testsets.truth_marks import NO_TRUTH_CLAUSE
from referee.cli.child_processes import interruption_reported
from referee.cli.home_contest import (
    WHICH_TO_TAKE,
    HomeMeter,
    keep_password,
    register_team,
    simulated_meter,
    try_meter,
)
from referee.cli.init_command import (
    DEFAULT_CATEGORIES,
    DEFAULT_IMAGES,
)
from referee.cli.output_paths import contest_to_make
from referee.cli.practice_photographs import default_folder, taken_photographs
from referee.cli.rehearsed_faults import (
    Faults,
    Hall,
    faults_option,
    require_no_meter_gap,
    seed_option,
)
from referee.cli.shared_options import any_path, port_option
from referee.clock import Clock
from referee.config import CONFIG_NAME, read_config
from referee.config.contest_text import config_text
from referee.contest import (
    Contest,
    create_contest,
    open_contest,
    place_of,
    require_task,
    require_truth,
)
from referee.errors import RefereeError
from referee.judging.judge_many import judge_with_interval
from referee.judging.run_checks import NO_TRUTH
from referee.judging.run_figures import current_judgement
from referee.presence import is_there
from referee.store.records import Run, RunState
from referee.web.listener import Listen
from referee.web.sole_server import sole_server

WINDOW_S = 600
LOOK_S = 0.1
TEAM = "practice"
PASSWORD = "practice-password"  # noqa: S105 - a file that marks a practice contest


@click.command(epilog=WHICH_TO_TAKE)
@click.argument("folder", metavar="[DIR]", type=contest_to_make, required=False)
@click.option(
    "--testset", type=any_path, help="A test-set folder; by default, a synthetic set."
)
@click.option(
    "--images",
    type=any_path,
    help="Folder of your own photographs, without ground truth: energy and timing only.",
)
@click.option(
    "--task",
    default=BOXES,
    show_default=True,
    help="What the client answers: boxes, classification or another task.",
)
@click.option(
    "--meter",
    default="sim:constant:5W",
    show_default=True,
    help="Or rapl:, hwmon:, VISA.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; 0.0.0.0 lets other machines in your networks connect.",
)
@port_option
@faults_option
@seed_option
def practice(
    folder: Path | None,
    testset: Path | None,
    images: Path | None,
    task: str,
    meter: str,
    host: str,
    port: int,
    faults: Faults,
    seed: int,
) -> None:
    """Serve a referee for practice at home, until Ctrl-C; DIR (./practice) is kept and continued the next time.

    Each log-in begins a run, which is judged when it ends. Examples: referee practice --host 0.0.0.0 and, with your own
    photographs, referee practice --images photographs
    """
    if testset is not None and images is not None:
        raise click.UsageError("Give --testset or --images, not both.")
    if task != BOXES and images is not None:
        raise click.UsageError(
            "Photographs have no ground truth for a task; leave out --images or --task."
        )
    require_task(task, "--task")
    folder = folder or default_folder(images, task)
    kind, _, load = meter.partition(":")
    if kind != "sim":
        require_no_meter_gap(faults)
    try_meter(meter)
    again = f"{quote(str(folder))} --host {host} --port {port}"
    kept = f"{folder} is kept; go on with: referee practice {again}; a run that is open now will have no energy"
    with interruption_reported(lambda: kept), ExitStack() as processes:
        if images is not None:
            testset = taken_photographs(images, folder)
        password = prepare(folder, testset, meter, task)
        measuring = HomeMeter(meter)
        if kind == "sim":
            measuring = simulated_meter(processes, folder, load or "constant:5W")
        # If a server of this folder is running, its meter would change at a restart.
        with sole_server(folder):
            set_meter(folder / CONFIG_NAME, measuring.address)
        listen = Listen(host, port)
        hall = Hall(processes, folder, listen, faults, seed, measuring.control)
        login = quote(json.dumps({"team": TEAM, "password": password}))
        own = "" if task in (BOXES, *TASKS) else " --detector MODULE:FUNCTION"
        elsewhere = ""
        if host == "127.0.0.1":
            elsewhere = "   to let other machines connect: --host 0.0.0.0"
        click.echo(f"""\
board     {"/  ".join(hall.pages)}/
referee   {"  ".join(hall.urls)}{elsewhere}
log-in    team {TEAM}, password {password}, which is in {folder / PASSWORD}
a client  LPIRC_PASSWORD={password} lpirc-client run {hall.urls[0]} --team {TEAM}{own}
by hand   curl {hall.urls[0]}/v1/session -H 'Content-Type: application/json' -d {login}
Each log-in begins a run, or continues an open run. Runs are judged when they end. Ctrl-C ends practice.""")
        try:
            _judge_runs(folder, hall, is_simulated=kind == "sim")
        finally:
            click.echo("\n".join(hall.account()))


def prepare(
    folder: Path,
    testset: Path | None,
    meter: str,
    task: str = BOXES,
) -> str:
    """Create the contest if it is missing, register the team, and return the team's password.

    Raises RefereeError `contest-exists` for a folder with another contest, `testset-unfit` for a test set without the
    truth of the task.
    """
    file = folder / PASSWORD
    if not is_there(folder / CONFIG_NAME):
        if testset is None and not is_there(
            folder / "testset"
        ):  # it is there after an interrupted start
            click.echo(f"Preparing {folder / 'testset'}", err=True)
            synthesize(
                folder / "testset",
                images=DEFAULT_IMAGES,
                categories=DEFAULT_CATEGORIES,
                seed=1,
                task=task if task in TASKS else BOXES,
            )
        taken = load_test_set(testset or folder / "testset")
        if task != BOXES:
            require_truth(taken, task)
        text = config_text(
            "Practice",
            WINDOW_S,
            meter,
            place_of(taken.folder, folder),
            auto_arm=True,
            auto_judge=False,
            task=task,
        )
        text = text.replace("teams_see_score = false", "teams_see_score = true ")
        folder.mkdir(parents=True, exist_ok=True)
        keep_password(file, secrets.token_urlsafe(9))
        create_contest(folder, text.replace("# public_score", "public_score"))
    elif not is_there(file):
        raise RefereeError(
            "contest-exists", f"{folder} is not a practice contest; choose another DIR."
        )
    elif (
        testset
        and testset.resolve()
        != (kept := folder / read_config(folder).testset).resolve()
    ):
        raise RefereeError(
            "contest-exists", f"{folder} has the test set {kept}; choose another DIR."
        )
    elif task not in (BOXES, kept_task := read_config(folder).task):
        sentence = f"{folder} is for the task {kept_task}; choose another DIR."
        raise RefereeError("contest-exists", sentence)
    password = file.read_text().strip()
    register_team(folder, TEAM, password)
    return password


def set_meter(config: Path, address: str) -> None:
    """Write the meter's address to the first station; a simulated meter has another port each time."""
    line = f"meter = {json.dumps(address)}"
    text = re.sub(r"(?m)^ *meter *=.*$", lambda _: line, config.read_text(), count=1)
    write_atomically(config, text.encode())


def _judge_runs(folder: Path, hall: Hall, *, is_simulated: bool) -> None:
    """Judge each run when it ends, and again if its energy is read later, and print the result."""
    clock = Clock()
    never = threading.Event()
    seen = set[tuple[int, float | None]]()
    with open_contest(folder) as contest:
        while not clock.wait(never, clock.monotonic_s() + LOOK_S):
            hall.cause_due_faults(runs := contest.store.runs.find())
            for run in runs:
                is_over = run.state in (RunState.CLOSED, RunState.JUDGED)
                if is_over and (run.id, run.energy_wh) not in seen:
                    seen.add((run.id, run.energy_wh))
                    if current_judgement(contest, run) is None:
                        click.echo(_judged(contest, run, is_simulated=is_simulated))


def _judged(contest: Contest, run: Run, *, is_simulated: bool) -> str:
    try:
        score = judge_with_interval(contest, run.id, Clock())
    except RefereeError as failure:
        return f"Run {run.id} is not judged: {failure.sentence}"
    words = words_of(run.task)
    energy = "no energy" if score.energy_wh is None else f"{score.energy_wh:.6f} Wh"
    reached = "no score" if score.score is None else f"score {score.score:.4g}"
    failed = ", ".join(
        f"{check.severity} {check.code}"
        for check in score.checks
        if not check.ok and check.code != NO_TRUTH
    )
    if any(check.code == "no-data" and not check.ok for check in score.checks):
        failed += " (the run was too short for a reading of the meter; try: lpirc-client run --least 2)"
    if score.map is None:
        if is_simulated and score.energy_wh is not None:
            energy += " (simulated)"
        figures = (
            f"{energy}, {_timing(contest, run)}; no mAP and no score: {NO_TRUTH_CLAUSE}"
        )
    else:
        figures = f"{words.accuracy} {score.map:.5f}, {energy}, {reached}"
    sentence = f"Run {run.id}: {figures}; checks: {failed or 'ok'}"
    return f"{sentence}; referee report {run.id} --contest {quote(str(contest.folder))}"


def _timing(contest: Contest, run: Run) -> str:
    """Return how long a run took, and how many of its images it asked for."""
    images = len(contest.store.served.images(run.id))
    elapsed_s = run.elapsed_s or 0.0
    words = f"{images} of {run.images} images in {elapsed_s:.1f} s"
    return f"{words} ({images / elapsed_s:.2f} a second)" if elapsed_s else words
