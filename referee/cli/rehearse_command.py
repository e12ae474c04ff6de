"""`referee rehearse`: a whole contest run on this machine, each part in a process of its own."""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import shutil
import sys
import threading
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
)

from lpirc_power.addresses import MeterAddress
from lpirc_power.clocks import Clocks
from lpirc_score.files.atomic_write import write_atomically
from lpirc_testsets import load_test_set, synthesize
from referee.auth.passwords import hash_password
from referee.cli.child_processes import (
    HELD,
    Child,
    interruption_reported,
    own_child,
    program,
)
from referee.cli.init_command import config_text
from referee.cli.rehearsed_faults import Faults, Hall, faults_option, seed_option
from referee.cli.score_text import print_score
from referee.cli.shared_options import any_path, as_json
from referee.clock import Clock
from referee.contest import create_contest, open_contest
from referee.errors import RefereeError
from referee.installed import client_version
from referee.judging.judge_many import judge_with_interval
from referee.judging.standings import score_document
from referee.presence import is_file, is_free
from referee.store import Store
from referee.store.records import Run, RunState, Score
from referee.web.listener import Listen

TEAM = "rehearsal"
DEFAULT_IMAGES = 200
CATEGORIES = 10
SEED = 2017
SIZE = (640, 480)
UPDATE_INTERVAL_S = 0.1
CLOSE_TIMEOUT_S = 30.0
CLIENT_END_S = 10.0  # after its window a client may go on for so long
LOOK_S = 0.05
MOST_SAID = (
    1 << 20
)  # characters at a look: some clients write faster than this shows them
CLIENT_LOG = "client.log"
PLACE = re.compile(r"\{(url|team|password_file|password)\}")
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
    client: tuple[str, ...] = ()
    faults: Faults = field(default_factory=dict)
    seed: int = 1

    @property
    def testset_folder(self) -> Path:
        """The test set of the rehearsal: the given one, or one synthesized in its folder."""
        return Path(os.path.realpath(self.testset or self.folder / "testset"))

    @property
    def ranges(self) -> tuple[float, float] | None:
        """Fixed ranges in volts and amperes where the load is known; otherwise the meter selects them."""
        return (
            CLIENT_RANGES if self.meter is None and self.load == CLIENT_LOAD else None
        )


@click.command()
@click.option(
    "--images", type=click.IntRange(1), help="Size of the synthetic set; default: 200."
)
@click.option(
    "--window",
    "window_s",
    type=click.IntRange(1),
    default=60,
    show_default=True,
    help="Seconds.",
)
@click.option("--testset", type=any_path, help="Your own test-set folder, instead.")
@click.option("--replay", type=any_path, help="Post these recorded detections (CSV).")
@click.option(
    "--client", help="Run this contestant: 'COMMAND {url} {team} {password_file}'."
)
@click.option(
    "--load", help=f"What the simulated meter measures; default: {CLIENT_LOAD}."
)
@click.option(
    "--meter",
    help="Measure with this meter instead, such as rapl:, hwmon: or a VISA address.",
)
@click.option(
    "--out", type=any_path, help="The folder to create; default: rehearsals/<time>."
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
    *,
    as_json: bool,
) -> None:
    """Carry out a whole contest run here: simulated meter, server, sample client, judgement.

    The simulated power follows the client's CPU time, so a leaner client scores better.

    In --client {url}, {team}, {password_file} and {password} are replaced; write "sh -c '...'" for a shell.
    Example: referee rehearse --client './mine {url} {team} {password_file}' --faults drop:5%
    """
    words = _client_words(client, replay)
    if load is not None and meter is not None:
        raise click.UsageError(
            "--load is for the simulated meter; leave it out with --meter."
        )
    if meter is not None:
        try_meter(meter, faults)
    if load is not None:
        try_meter(f"sim:{load.replace(PID, str(os.getpid()))}")
    if images is not None and testset is not None:
        raise click.UsageError(
            "--images is the size of the synthetic set; leave it out with --testset."
        )
    if replay is not None and not is_file(replay):
        raise RefereeError(
            "replay-missing", f"The file to replay, {replay}, does not exist."
        )
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
    plan = Plan(folder, *of_run, words, faults, seed)
    with interruption_reported(
        lambda: f"everything is stopped, {folder} is kept as it is."
    ):
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


def _client_words(client: str | None, replay: Path | None) -> tuple[str, ...]:
    """The words of --client with its program's path; () for the sample client. Raises RefereeError, UsageError."""
    if client is None:
        client_version()
        return ()
    if replay is not None:
        raise click.UsageError(
            "--replay is for the sample client; leave it out with --client."
        )
    try:
        words = shlex.split(client)
    except ValueError as error:
        raise click.UsageError(
            f"--client {client!r} is not a command: {error}."
        ) from error
    if not words or "{url}" not in client:
        raise click.UsageError(
            f"--client {client!r} has no {{url}}: it must be given the referee's address."
        )
    if (path := shutil.which(words[0])) is None:
        raise RefereeError(
            "client-missing", f"There is no program {words[0]!r} that may be executed."
        )
    return (path, *words[1:])


def try_meter(address: str, faults: Faults | None = None) -> None:
    """Raise MeterError, before anything is created, if no meter answers there or the load is invalid."""
    if "meter-gap" in (faults or {}):
        raise click.UsageError(
            "meter-gap is for the simulated meter; leave it out with --meter."
        )
    clock, never = Clock(), threading.Event()
    clocks = Clocks(
        clock.monotonic_s,
        clock.utc,
        lambda s: clock.wait(never, clock.monotonic_s() + s),
    )
    with closing(MeterAddress(address)) as meter:
        meter.connect(clocks).close()


def carry_out(plan: Plan) -> tuple[Run, Score, list[str], int]:
    """Run it all and write the report; returns also remarks on client and faults, and the client's exit code.

    Raises RefereeError, TestSetError; KeyboardInterrupt after all is stopped.
    """
    from referee.evidence.bundle_parts import export_bundle
    from referee.report import write_report  # takes a third of a second

    stage = partial(click.echo, err=True)
    if not is_free(plan.folder):
        raise RefereeError(
            "folder-in-use",
            f"{plan.folder} is not empty; choose another folder with --out.",
        )
    stage(f"Preparing {plan.testset_folder}")
    images = _prepare_test_set(plan)
    with ExitStack() as processes:
        held = [sys.executable, "-c", HELD]
        client = processes.enter_context(
            Child("client", held, plan.folder / CLIENT_LOG)
        )
        address, control = plan.meter, ""
        if address is None:
            load = plan.load.replace(PID, str(client.pid))
            simulate = ("meter", "simulate", "--load", load, "--control", "0")
            meter = processes.enter_context(own_child(plan.folder, "meter", *simulate))
            address, control = (
                meter.first_line(),
                meter.first_line().removeprefix("control "),
            )
        stage(f"Meter at {address}" if plan.meter else f"Meter simulated at {address}")
        password = _make_contest(plan, address)
        hall = Hall(
            processes, plan.folder, Listen(port=0), plan.faults, plan.seed, control
        )
        stage(hall.serving)
        client.write(json.dumps(_client_arguments(plan, hall.urls[0], password)))
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
        )
    images = load_test_set(
        plan.testset_folder
    ).images  # raises before the folder is created
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
        contest.store.teams.add(TEAM, hash_password(password), Clock().utc())
    return password


def _client_arguments(plan: Plan, url: str, password: str) -> list[str]:
    """The client's command line; the password is in a file of mode 0600, as for a contestant."""
    password_file = plan.folder / "password"
    password_file.touch(mode=0o600)
    password_file.write_text(password + "\n")
    known = {
        "url": url,
        "team": TEAM,
        "password_file": str(password_file.resolve()),
        "password": password,
    }
    if plan.client:
        return [PLACE.sub(lambda place: known[place[1]], word) for word in plan.client]
    what = ["run", url]
    if plan.replay is not None:
        what = ["replay", url, str(plan.replay), "--testset", str(plan.testset_folder)]
    common = [
        "--team",
        TEAM,
        "--password-file",
        str(password_file),
        "--parent",
        str(os.getpid()),
    ]
    common += ["--wait", str(CLIENT_END_S)] * bool(
        plan.faults
    )  # the first request may be cut off
    common += ["--receipts", str(plan.folder / RECEIPTS_NAME)]
    return [
        program("lpirc-client"),
        *what,
        *common,
        "--least",
        str(LEAST_RUN_S),
        "--progress",
        "json",
    ]


def await_client(plan: Plan, client: Child, hall: Hall, images: int) -> list[str]:
    """Wait until the client has ended, or end it when its time is over, and show what it says. Returns remarks on it.

    Raises RefereeError `child-failed` of the sample client.
    """
    clock, never, rest, console = Clock(), threading.Event(), "", Console(stderr=True)
    limit_s, kept = (
        clock.monotonic_s() + plan.window_s + CLIENT_END_S,
        plan.folder / CLIENT_LOG,
    )
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    progress = Progress(
        *columns, console=console, disable=bool(plan.client) or not console.is_terminal
    )
    task = progress.add_task("images", total=images)
    with (
        closing(Store.open(plan.folder / "contest.db")) as store,
        kept.open(errors="replace") as log,
        progress,
    ):
        is_running, said = True, ""
        while is_running or said:
            is_running = client.exit_code is None and not clock.wait(
                never, clock.monotonic_s() + LOOK_S
            )
            said = log.read(MOST_SAID)
            if plan.client:
                click.echo(said, nl=False, err=True)
            *lines, rest = ("" if plan.client else rest + said).split("\n")
            for done in [json.loads(line) for line in lines if line.startswith("{")]:
                named = f"{done['detections']} detections"
                progress.update(task, completed=done["images"], description=named)
            for run in store.runs.find()[:1]:
                hall.look([run])
                limit_s = (
                    (run.start_s or clock.monotonic_s()) + plan.window_s + CLIENT_END_S
                )
            if is_running and clock.monotonic_s() > limit_s:
                client.kill()
                return [
                    f"The client ran on {CLIENT_END_S:g} s after its {plan.window_s} s, and was killed."
                ]
    client.kill()  # what it has left in its session
    if client.exit_code and not plan.client:
        raise client.failure()
    return (
        [f"The client failed with exit code {client.exit_code}; see {kept}."]
        if client.exit_code
        else []
    )


def closed_run(plan: Plan, hall: Hall, remarks: list[str]) -> Run:
    """The rehearsal's run, once it is closed: by the client's logout, or by the deadline. Raises RefereeError."""
    clock, never = Clock(), threading.Event()
    until_s = clock.monotonic_s() + plan.window_s + CLOSE_TIMEOUT_S
    with closing(Store.open(plan.folder / "contest.db")) as store:
        while (
            run := next(iter(store.runs.find()), None)
        ) and clock.monotonic_s() <= until_s:
            hall.look([run])
            if run.state is not RunState.OPEN:
                return run
            clock.wait(never, clock.monotonic_s() + LOOK_S)
    if run is None:
        why = " ".join(remarks) or f"See {plan.folder / CLIENT_LOG}."
        raise RefereeError(
            "no-log-in", f"The client never logged in, so there is no run. {why}"
        )
    raise RefereeError(
        "run-state", f"The run did not close; see {plan.folder / 'server.log'}."
    )


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
