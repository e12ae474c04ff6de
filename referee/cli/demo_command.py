"""`referee demo`: a simulated contest day to watch, which starts again when it ends."""

from __future__ import annotations

import secrets
import shutil
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from lpirc_score.cli.number_type import Number
from lpirc_score.files.atomic_write import write_atomically
from lpirc_testsets import synthesize
from referee.cli.ask_server import NoServer
from referee.cli.child_processes import interruption_reported
from referee.cli.demo_day import IMAGES, record_day
from referee.cli.demo_programme import DETECTOR, Stage, announce_end, play_round
from referee.cli.home_contest import (
    RANGES,
    WHICH_TO_TAKE,
    keep_password,
    require_unused,
    serve,
)
from referee.cli.number_types import WholeNumber
from referee.cli.output_paths import folder_to_make
from referee.cli.shared_options import port_option
from referee.clock import Clock
from referee.config.contest_text import Answers, config_text
from referee.contest import create_contest, open_contest
from referee.web.listener import Listen

CATEGORIES = 8
SEED = 2018
SIZE = (320, 240)
WINDOW_S = 240
ROUNDS = 3  # of a day, eight runs each: it begins again before it has grown large or used up the attempts
LOADS = ("noise:6.5W,sd=1.2W,seed=3", "noise:4.8W,sd=0.9W,seed=4")
DAY_ANSWERS = Answers(attempts=3, least_map=0.05)
DAY_KEYS = "public_score = true\n"


@dataclass(frozen=True)
class Pace:
    """The speed of a demo day, and the number of its rounds."""

    speed: float
    rounds: int


@click.command(epilog=WHICH_TO_TAKE)
@click.option(
    "--folder",
    type=folder_to_make,
    help="Keep the contest in this new folder. With several days, only the last one is kept.",
)
@click.option(
    "--speed",
    type=Number(min=1.0),
    default=1.0,
    hidden=True,
    help="For tests.",
)
@click.option(
    "--rounds", type=WholeNumber(1), default=ROUNDS, hidden=True, help="For tests."
)
@port_option
def demo(folder: Path | None, port: int, speed: float, rounds: int) -> None:
    """Serve a rehearsed contest day with 16 teams, to look at board and console. Ctrl-C ends it.

    It goes on with runs at two stations, heats, a void run, a review, a freeze and an unveiling, and after half an hour
    it begins again, with the same password.
    """
    if folder is not None:
        require_unused(folder, "choose another one with --folder")
    kept = f", {folder} is kept" if folder else ""
    with (
        interruption_reported(lambda: f"the demo is over{kept}."),
        ExitStack() as temporary,
    ):
        if folder is None:
            made = tempfile.TemporaryDirectory(prefix="referee-demo-")
            folder = Path(temporary.enter_context(made))
        _show(folder, port, Pace(speed, rounds))


def _show(folder: Path, port: int, pace: Pace) -> None:
    password = secrets.token_urlsafe(6)
    number = 1
    click.echo("Preparing the day; this takes some ten seconds.", err=True)
    day = _prepared(folder / "day-1", password)
    while True:
        server = serve(day, Listen(port=port))
        with server.process:
            url = server.urls[0]
            port = int(url.rpartition(":")[2])
            if number == 1:
                click.echo(f"  board    {url}/")
                click.echo(
                    f"  console  {url}/operator/   log in as demo with the password {password}"
                )
                click.echo("Ctrl-C ends the demo.")
            number += 1
            following = _play_day(day, url, pace, password, folder / f"day-{number}")
        shutil.rmtree(day)
        day = following


def _play_day(day: Path, url: str, pace: Pace, password: str, following: Path) -> Path:
    """Play a day and return the folder of the next day, which is prepared while this day is still served."""
    try:
        with open_contest(day) as contest:
            stage = Stage(day, url, contest, Clock(), pace.speed)
            for number in range(1, pace.rounds + 1):
                play_round(stage, number)
            announce_end(stage)
    except NoServer as failure:
        click.echo(f"{failure.sentence} The day begins again.", err=True)
    return _prepared(following, password)


def _prepared(folder: Path, password: str) -> Path:
    synthesize(
        folder / "testset", images=IMAGES, categories=CATEGORIES, seed=SEED, size=SIZE
    )
    first, second = (f"sim:{load}" for load in LOADS)
    meter: dict[str, Any] = {
        "auto_arm": False,
        "auto_judge": False,
        "update_interval_s": 1.0,
        "ranges": RANGES,
        "answers": DAY_ANSWERS,
    }
    text = config_text(
        "Demo: a rehearsed contest day", WINDOW_S, first, "testset", **meter
    )
    other = text[text.index("[[stations]]") : text.index("# [[stations]]")]
    other = other.replace("station-1", "station-2").replace(first, second)
    create_contest(folder, DAY_KEYS + text + other)
    keep_password(folder / "password", password)
    write_atomically(folder / "slow.py", DETECTOR.encode())
    with open_contest(folder) as contest:
        record_day(contest, password, Clock())
    return folder
