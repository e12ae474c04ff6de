"""`referee rehearse`: a whole contest run on this machine, each part in a process of its own."""

from __future__ import annotations

import json
import os
import secrets
import sys
import threading
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from lpirc_power.addresses import MeterAddress
from lpirc_power.clocks import Clocks
from lpirc_testsets import load_test_set, synthesize
from referee.auth.passwords import hash_password
from referee.cli.contest import config_text
from referee.cli.judged import print_score
from referee.cli.options import as_json
from referee.cli.processes import HELD, Child, interruption_reported, program
from referee.clock import Clock
from referee.contest import create_contest, open_contest
from referee.errors import RefereeError
from referee.files.atomic_write import write_atomically
from referee.judging.results import score_document
from referee.judging.uncertainty import judge_with_interval
from referee.store import Store
from referee.store.records import Run, RunState, Score
from referee.tracks.submissions.harness import client_version

TEAM = "rehearsal"
DEFAULT_IMAGES = 200
CATEGORIES = 10
SEED = 2017
SIZE = (640, 480)
UPDATE_INTERVAL_S = 0.1
CLOSE_TIMEOUT_S = 30.0
# A fast client would end before the meter has measured anything.
LEAST_RUN_S = 2.0
PAGE_NAME = "report.html"
RECEIPTS_NAME = "receipts.jsonl"
BUNDLE_NAME = "bundle.zip"
PID = "{pid}"  # in a load: the client's process id
CLIENT_LOAD = f"cpu:{PID},idle=2W,busy=9W"
CLIENT_RANGES = (150.0, 0.1)  # volts and amperes for that load


@dataclass(frozen=True)
class Plan:
    """What to rehearse, and the folder for it."""

    folder: Path
    images: int
    window_s: int
    load: str
    meter: str | None
    testset: Path | None
    replay: Path | None

    @property
    def testset_folder(self) -> Path:
        """The test set of the rehearsal: the given one, or one synthesized in its folder."""
        return Path(os.path.realpath(self.testset or self.folder / "testset"))

    @property
    def ranges(self) -> tuple[float, float] | None:
        """Fixed ranges in volts and amperes where the load is known; otherwise the meter selects them."""
        return CLIENT_RANGES if self.meter is None and self.load == CLIENT_LOAD else None


@click.command()
@click.option("--images", type=click.IntRange(1), help="Size of the synthetic set; default: 200.")
@click.option("--window", "window_s", type=click.IntRange(1), default=60, show_default=True, help="Seconds.")
@click.option("--testset", type=click.Path(path_type=Path), help="Your own test-set folder, instead.")
@click.option("--replay", type=click.Path(path_type=Path), help="Post these recorded detections (CSV).")
@click.option("--load", help=f"What the simulated meter measures; default: {CLIENT_LOAD}.")
@click.option("--meter", help="Measure with this meter instead, such as rapl:, hwmon: or a VISA address.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="The folder to create; default: rehearsals/<time>."
)
@as_json
def rehearse(
    images: int | None,
    window_s: int,
    testset: Path | None,
    replay: Path | None,
    load: str | None,
    meter: str | None,
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    """Carry out a whole contest run here: simulated meter, server, sample client, judgement.

    The simulated power follows the client's CPU time, so a leaner client scores better.
    """
    client_version()
    if load is not None and meter is not None:
        raise click.UsageError("--load is for the simulated meter; leave it out with --meter.")
    if meter is not None:
        _try_meter(meter)
    if load is not None:
        _try_meter(f"sim:{load.replace(PID, str(os.getpid()))}")
    if images is not None and testset is not None:
        raise click.UsageError("--images is the size of the synthetic set; leave it out with --testset.")
    if replay is not None and not replay.is_file():
        raise RefereeError("replay-missing", f"The file to replay, {replay}, does not exist.")
    stamp = Clock().utc().strftime("%Y%m%dT%H%M%SZ")
    folder = out or Path("rehearsals") / f"{stamp}-{secrets.token_hex(2)}"
    plan = Plan(folder, images or DEFAULT_IMAGES, window_s, load or CLIENT_LOAD, meter, testset, replay)
    with interruption_reported(lambda: f"everything is stopped, {folder} is kept as it is."):
        run, score = carry_out(plan)
    document = score_document(run, score) | {"paths": _paths(plan)}
    write_atomically(folder / "report.json", f"{json.dumps(document, indent=2)}\n".encode())
    if as_json:
        click.echo(json.dumps(document))
    else:
        print_score(run, score)
        for name, path in _paths(plan).items():
            click.echo(f"{name:>10}  {path}")


def _try_meter(address: str) -> None:
    """Raise MeterError, before anything is created, if no meter answers there or the load is invalid."""
    clock, never = Clock(), threading.Event()
    clocks = Clocks(clock.monotonic_s, clock.utc, lambda s: clock.wait(never, clock.monotonic_s() + s))
    with closing(MeterAddress(address)) as meter:
        meter.connect(clocks).close()


def carry_out(plan: Plan) -> tuple[Run, Score]:
    """Run it all and write the report. Raises RefereeError, TestSetError; KeyboardInterrupt after all is stopped."""
    from referee.evidence.parts import export_bundle
    from referee.report import write_report  # takes a third of a second

    stage = partial(click.echo, err=True)
    if plan.folder.exists() and (not plan.folder.is_dir() or any(plan.folder.iterdir())):
        raise RefereeError("folder-in-use", f"{plan.folder} is not empty; choose another folder with --out.")
    stage(f"Preparing {plan.testset_folder}")
    images = _prepare_test_set(plan)
    with ExitStack() as processes:
        held = [sys.executable, "-c", HELD]
        client = processes.enter_context(Child("client", held, plan.folder / "client.log", reads="stderr"))
        address = plan.meter
        if address is None:
            load = plan.load.replace(PID, str(client.pid))
            meter = processes.enter_context(_child(plan, "meter", "meter", "simulate", "--load", load))
            address = meter.first_line()
        stage(f"Meter at {address}" if plan.meter else f"Meter simulated at {address}")
        password = _make_contest(plan, address)
        serve = _child(plan, "server", "referee", "serve", str(plan.folder), "--port", "0")
        serving = processes.enter_context(serve).first_line()
        stage(serving)
        url = serving.split(" at ")[-1].split()[0]
        client.write(json.dumps(_client_arguments(plan, url, password)))
        _show_progress(client, images)
        client.wait()
        run = _closed_run(plan)
    stage(f"Run {run.id} closed; judging")
    with open_contest(plan.folder) as contest:
        score = judge_with_interval(contest, run.id, Clock())
        stage("Writing the report")
        write_report(contest, run.id, plan.folder, PAGE_NAME)
        export_bundle(contest, run.id, plan.folder / BUNDLE_NAME, Clock().utc())
        return contest.store.run(run.id), score


def _prepare_test_set(plan: Plan) -> int:
    if plan.testset is None:
        plan.folder.mkdir(parents=True, exist_ok=True)
        synthesize(plan.testset_folder, images=plan.images, categories=CATEGORIES, seed=SEED, size=SIZE)
    images = load_test_set(plan.testset_folder).images  # raises before the folder is created
    plan.folder.mkdir(parents=True, exist_ok=True)
    return len(images)


def _make_contest(plan: Plan, meter: str) -> str:
    """Create the contest folder; returns the team's password, which is stored nowhere."""
    text = config_text(
        "Rehearsal",
        plan.window_s,
        meter,
        str(plan.testset_folder),
        auto_arm=True,
        update_interval_s=UPDATE_INTERVAL_S,
        ranges=plan.ranges,
    )
    create_contest(plan.folder, text)
    password = secrets.token_urlsafe(16)
    with open_contest(plan.folder) as contest:
        contest.store.add_team(TEAM, hash_password(password), Clock().utc())
    return password


def _child(plan: Plan, name: str, command: str, *arguments: str) -> Child:
    own = [program(command), *arguments, "--parent", str(os.getpid())]
    return Child(name, own, plan.folder / f"{name}.log")


def _client_arguments(plan: Plan, url: str, password: str) -> list[str]:
    """The client's command line; the password is in a file of mode 0600, as for a contestant."""
    password_file = plan.folder / "password"
    password_file.touch(mode=0o600)
    password_file.write_text(password + "\n")
    what = ["run", url]
    if plan.replay is not None:
        what = ["replay", url, str(plan.replay), "--testset", str(plan.testset_folder)]
    common = ["--team", TEAM, "--password-file", str(password_file), "--parent", str(os.getpid())]
    common += ["--receipts", str(plan.folder / RECEIPTS_NAME)]
    return [program("lpirc-client"), *what, *common, "--least", str(LEAST_RUN_S), "--progress", "json"]


def _show_progress(client: Child, images: int) -> None:
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task("images", total=images)
        for line in client.lines():
            if not line.startswith("{"):
                client.keep(line)
                continue
            done = json.loads(line)
            progress.update(task, completed=done["images"], description=f"{done['detections']} detections")


def _closed_run(plan: Plan) -> Run:
    """The rehearsal's run, once it is closed: by the client's logout, or by the deadline a little later."""
    clock, never = Clock(), threading.Event()
    until_s = clock.monotonic_s() + plan.window_s + CLOSE_TIMEOUT_S
    with closing(Store(plan.folder / "contest.db")) as store:
        while clock.monotonic_s() <= until_s:
            (run,) = store.runs()
            if run.state is not RunState.OPEN:
                return run
            clock.wait(never, clock.monotonic_s() + 0.05)
    raise RefereeError("run-state", f"The run did not close; see {plan.folder / 'server.log'}.")


def _paths(plan: Plan) -> dict[str, str]:
    return {
        "contest": str(plan.folder),
        "database": str(plan.folder / "contest.db"),
        "report": str(plan.folder / "report.json"),
        "test set": str(plan.testset or plan.folder / "testset"),
        "receipts": str(plan.folder / RECEIPTS_NAME),
        "report page": str(plan.folder / PAGE_NAME),
        "bundle": str(plan.folder / BUNDLE_NAME),
    }
