"""`referee demo`: a rehearsed contest day to look at, with a run that goes on while one looks."""

from __future__ import annotations

import os
import secrets
import subprocess
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path

import click

from lpirc_testsets import synthesize
from referee.cli.contest import config_text
from referee.cli.demo_day import record_day
from referee.cli.processes import Child, interruption_reported, program
from referee.cli.shared_options import any_path, port_option
from referee.clock import Clock
from referee.contest import create_contest, open_contest
from referee.errors import RefereeError
from referee.presence import is_free

IMAGES, CATEGORIES, SEED, SIZE = 40, 8, 2018, (320, 240)
WINDOW_S = 240
STEP_S = 4.0  # between two images of the live run
RANGES = (150.0, 0.1)  # volts and amperes
SLOW = f"""\
import time
from lpirc_client.sample_detector.detector import detect as sample

def detect(jpeg, categories):
    time.sleep({STEP_S})
    return sample(jpeg, categories)
"""
LOADS = ("noise:6.5W,sd=1.2W,seed=3", "noise:4.8W,sd=0.9W,seed=4")
DAY_KEYS = "least_map = 0.05\nattempts = 3\npublic_score = true\n"


@click.command()
@click.option("--folder", type=any_path, help="Keep it in this new folder.")
@port_option
def demo(folder: Path | None, port: int) -> None:
    """Serve a rehearsed contest day with 16 teams, to look at board and console. Ctrl-C ends it."""
    if folder is not None and not is_free(folder):
        raise RefereeError("folder-in-use", f"{folder} is not empty; choose another one with --folder.")
    kept = f", {folder} is kept" if folder else ""
    with interruption_reported(lambda: f"the demo is over{kept}."), ExitStack() as temporary:
        if folder is None:
            folder = Path(temporary.enter_context(tempfile.TemporaryDirectory(prefix="referee-demo-")))
        _show(folder, port)


def _show(folder: Path, port: int) -> None:
    password = secrets.token_urlsafe(6)
    click.echo("Preparing the day; this takes some ten seconds.", err=True)
    _prepare(folder, password)
    serve = [program("referee"), "serve", str(folder), "--port", str(port), "--parent", str(os.getpid())]
    with Child("server", serve, folder / "server.log") as server:
        url = server.first_line().split(" at ")[-1].split()[0]
        click.echo(f"  board    {url}/")
        click.echo(f"  console  {url}/operator/   log in as demo with the password {password}")
        click.echo("Ctrl-C ends the demo.")
        _go_on(folder, url)


def _prepare(folder: Path, password: str) -> None:
    synthesize(folder / "testset", images=IMAGES, categories=CATEGORIES, seed=SEED, size=SIZE)
    first, second = (f"sim:{load}" for load in LOADS)
    meter = {"auto_arm": False, "update_interval_s": 1.0, "ranges": RANGES}
    text = config_text("Demo: a rehearsed contest day", WINDOW_S, first, "testset", **meter)  # type: ignore[arg-type]
    other = text[text.index("[[stations]]") : text.index("# [[stations]]")]
    other = other.replace("station-1", "station-2").replace(first, second)
    create_contest(folder, DAY_KEYS + text + other)
    (folder / "password").touch(mode=0o600)
    (folder / "password").write_text(f"{password}\n")
    (folder / "slow.py").write_text(SLOW)
    with open_contest(folder) as contest:
        record_day(contest, password, Clock())


def _go_on(folder: Path, url: str) -> None:
    """Let the teams of the queue run, one after another; the operator may change runs and queue meanwhile."""
    team = ["--password-file", "password", "--parent", str(os.getpid()), "--team"]
    slowly = ["--detector", "slow:detect", "--fetch", "1", "--batch", "1"]
    clock, never = Clock(), threading.Event()
    with open_contest(folder) as contest:
        while True:
            queue = contest.store.queue()
            if queue and _done(folder, "referee", "run", "arm", queue[0], "--station", "station-1"):
                _done(folder, "lpirc-client", "run", url, *slowly, *team, queue[0])
                _done(folder, "referee", "judge", "--all")
            clock.wait(never, clock.monotonic_s() + STEP_S)


def _done(folder: Path, command: str, *arguments: str) -> bool:
    """Whether it succeeded. It fails if the operator has voided the run or armed another one; see the log."""
    with (folder / "steps.log").open("a") as log:
        words = [program(command), *arguments]
        return subprocess.run(words, cwd=folder, stdout=log, stderr=log, check=False).returncode == 0  # noqa: S603
