"""`referee rehearse`: a whole contest run on this machine, with each part in a process of its own."""

from __future__ import annotations

import json
import os
import secrets
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import click

from lpirc_score.files.atomic_write import write_atomically
from lpirc_score.tasks import BOXES
from lpirc_testsets import load_test_set, synthesize
from lpirc_testsets.synthetic_truth import TASKS
from referee.cli.child_processes import HELD, Child, interruption_reported
from referee.cli.home_contest import (
    WHICH_TO_TAKE,
    HomeMeter,
    register_team,
    require_unused,
    simulated_meter,
    try_meter,
)
from referee.cli.number_types import ImageCount, WholeNumber
from referee.cli.output_paths import contest_to_make
from referee.cli.rehearsal_plan import (
    CATEGORIES,
    CLIENT_LOAD,
    DEFAULT_IMAGES,
    PID,
    SEED,
    SIZE,
    TEAM,
    UPDATE_INTERVAL_S,
    Plan,
)
from referee.cli.rehearsed_client import (
    CLIENT_LOG,
    RECEIPTS_NAME,
    await_client,
    client_arguments,
    client_words,
    closed_run,
    require_recording,
)
from referee.cli.rehearsed_faults import (
    Faults,
    Hall,
    faults_option,
    require_no_meter_gap,
    seed_option,
)
from referee.cli.score_text import print_score
from referee.cli.shared_options import any_path, as_json
from referee.clock import Clock
from referee.config.contest_text import config_text
from referee.config.rule_table import rule_text
from referee.contest import create_contest, open_contest, require_task
from referee.contest_rules import DEFAULT, ContestRule, RuleError, rule_of_words
from referee.judging.judge_many import judge_with_interval
from referee.judging.run_figures import score_document
from referee.store.records import Run, Score
from referee.web.listener import Listen

PAGE_NAME = "report.html"


BUNDLE_NAME = "bundle.zip"


@click.command(epilog=WHICH_TO_TAKE)
@click.option(
    "--images", type=ImageCount(1), help="Size of the synthetic set; default: 200."
)
@click.option(
    "--window",
    "window_s",
    type=WholeNumber(1),
    default=60,
    show_default=True,
    help="Seconds.",
)
@click.option(
    "--testset",
    type=any_path,
    help="Use this test-set folder instead of a synthetic set.",
)
@click.option("--replay", type=any_path, help="Post these recorded detections (CSV).")
@click.option(
    "--client", help="Run this client: 'COMMAND {url} {team} {password_file}'."
)
@click.option(
    "--load", help=f"Load that the simulated meter measures; default: {CLIENT_LOAD}."
)
@click.option(
    "--meter",
    help="Measure with this meter instead, such as rapl:, hwmon: or a VISA address.",
)
@click.option(
    "--out",
    type=contest_to_make,
    help="The folder to create; default: rehearsals/<time>.",
)
@click.option(
    "--task",
    default=BOXES,
    show_default=True,
    help="What the client answers: boxes, classification or another task.",
)
@click.option(
    "--rule",
    "rule_words",
    help="Rank by this rule of docs/rules.md, such as accuracy-within-limit,energy_limit_wh=5.",
)
@faults_option
@seed_option
@as_json
def rehearse(
    images: int | None,
    window_s: int,
    testset: Path | None,
    replay: Path | None,
    client: str | None,
    load: str | None,
    meter: str | None,
    out: Path | None,
    faults: Faults,
    seed: int,
    task: str,
    rule_words: str | None,
    *,
    as_json: bool,
) -> None:
    """Carry out a whole contest run here: simulated meter, server, sample client, judgement.

    The simulated power follows the client's CPU time, so a leaner client scores better.

    In --client {url}, {team}, {password_file} and {password} are replaced; write "sh -c '...'" for a shell.
    Example: referee rehearse --client './mine {url} {team} {password_file}' --faults drop:5%
    """
    require_task(task, "--task")
    if task != BOXES and replay is not None:
        raise click.UsageError("--replay is for boxes; leave it out with --task.")
    rule = DEFAULT if rule_words is None else _rule(rule_words)
    words = client_words(client, replay)
    if load is not None and meter is not None:
        raise click.UsageError(
            "--load is for the simulated meter; leave it out with --meter."
        )
    if meter is not None:
        require_no_meter_gap(faults)
        try_meter(meter)
    if load is not None:
        try_meter(f"sim:{load.replace(PID, str(os.getpid()))}")
    if images is not None and testset is not None:
        raise click.UsageError(
            "--images is the size of the synthetic set; leave it out with --testset."
        )
    if replay is not None:
        require_recording(replay, testset)
    stamp = Clock().utc().strftime("%Y%m%dT%H%M%SZ")
    folder = out or Path("rehearsals") / f"{stamp}-{secrets.token_hex(2)}"
    of_run = (
        images or DEFAULT_IMAGES,
        window_s,
        load or CLIENT_LOAD,
        meter,
        testset,
        replay,
    )
    plan = Plan(folder, *of_run, words, faults, seed, task, rule)
    with interruption_reported(lambda: f"everything is stopped, and {folder} is kept."):
        run, score, remarks, code = carry_out(plan)
    document = score_document(run, score) | {
        "remarks": remarks,
        "exit_code": code,
        "paths": _paths(plan),
    }
    write_atomically(
        folder / "report.json", f"{json.dumps(document, indent=2)}\n".encode()
    )
    if as_json:
        click.echo(json.dumps(document))
    else:
        print_score(run, score)
        for name, path in _paths(plan).items():
            click.echo(f"{name:>10}  {path}")
    for sentence in remarks:
        click.echo(sentence, err=True)
    sys.exit(1 if code else 0)


def _rule(words: str) -> ContestRule:
    """Return the rule of the option `--rule`."""
    try:
        rule = rule_of_words(words)
    except RuleError as error:
        raise click.BadParameter(str(error), param_hint="--rule") from error
    if rule.takes_idle:
        sentence = f"{rule.name} needs the idle board, which no run measures that a log-in arms, as here."
        raise click.BadParameter(sentence, param_hint="--rule")
    return rule


def carry_out(plan: Plan) -> tuple[Run, Score, list[str], int]:
    """Carry out the whole rehearsal and write the report.

    Returns the run, its score, remarks on client and faults, and the client's exit code. Raises RefereeError,
    TestSetError, and KeyboardInterrupt after all processes are stopped.
    """
    from referee.evidence.bundle_parts import export_bundle
    from referee.report import write_report  # takes a third of a second

    stage = partial(click.echo, err=True)
    require_unused(plan.folder, "choose another folder with --out")
    stage(f"Preparing {plan.testset_folder}")
    images = _prepare_test_set(plan)
    with ExitStack() as processes:
        held = [sys.executable, "-c", HELD]
        client = processes.enter_context(
            Child("client", held, plan.folder / CLIENT_LOG)
        )
        if plan.meter is None:
            load = plan.load.replace(PID, str(client.pid))
            meter = simulated_meter(processes, plan.folder, load)
            stage(f"Meter simulated at {meter.address}")
        else:
            meter = HomeMeter(plan.meter)
            stage(f"Meter at {meter.address}")
        password = _make_contest(plan, meter.address)
        listen = Listen(port=0)
        hall = Hall(
            processes, plan.folder, listen, plan.faults, plan.seed, meter.control
        )
        stage(hall.serving)
        client.write(json.dumps(client_arguments(plan, hall.urls[0], password)))
        remarks = await_client(plan, client, hall, images)
        run = closed_run(plan, hall, remarks)
        if run.closed_by == "deadline":
            remarks.append(
                "The client did not log out: the run lasted until the end of its window."
            )
        remarks += hall.account()
    stage(f"Run {run.id} closed; judging")
    with open_contest(plan.folder) as contest:
        score = judge_with_interval(contest, run.id, Clock())
        stage("Writing the report")
        write_report(contest, run.id, plan.folder, PAGE_NAME)
        export_bundle(contest, run.id, plan.folder / BUNDLE_NAME, Clock().utc())
        return contest.store.runs.get(run.id), score, remarks, client.exit_code or 0


def _prepare_test_set(plan: Plan) -> int:
    if plan.testset is None:
        plan.folder.mkdir(parents=True, exist_ok=True)
        synthesize(
            plan.testset_folder,
            images=plan.images,
            categories=CATEGORIES,
            seed=SEED,
            size=SIZE,
            task=plan.task if plan.task in TASKS else BOXES,
        )
    images = load_test_set(
        plan.testset_folder
    ).images  # raises before the folder is created
    plan.folder.mkdir(parents=True, exist_ok=True)
    return len(images)


def _make_contest(plan: Plan, meter: str) -> str:
    """Create the contest folder and return the team's password, which is not stored."""
    text = config_text(
        "Rehearsal",
        plan.window_s,
        meter,
        str(plan.testset_folder),
        auto_arm=True,
        auto_judge=False,
        update_interval_s=UPDATE_INTERVAL_S,
        ranges=plan.ranges,
        task=plan.task,
    )
    create_contest(plan.folder, text + rule_text(plan.rule))
    password = secrets.token_urlsafe(16)
    register_team(plan.folder, TEAM, password)
    return password


def _paths(plan: Plan) -> dict[str, str]:
    return {
        "contest": str(plan.folder),
        "database": str(plan.folder / "contest.db"),
        "report": str(plan.folder / "report.json"),
        "test set": str(plan.testset or plan.folder / "testset"),
        **({} if plan.client else {"receipts": str(plan.folder / RECEIPTS_NAME)}),
        "report page": str(plan.folder / PAGE_NAME),
        "bundle": str(plan.folder / BUNDLE_NAME),
    }
