"""`referee init` and `referee serve`: create a contest folder and serve it."""

from __future__ import annotations

import json
import os
from functools import partial
from ipaddress import ip_address
from pathlib import Path

import click

from lpirc_power.meter_address import MeterAddress
from lpirc_testsets import load_test_set, synthesize
from referee.cli.doctor_rules import unguarded
from referee.cli.init_answers import (
    BACKUP_FOLDER,
    Answers,
    Given,
    answer_lines,
    attempts_option,
    backup_option,
    least_map_option,
    per_attempt_option,
    repeated_images,
    yes_option,
)
from referee.cli.shared_options import any_path, listening, listening_options
from referee.config import LONGEST_WINDOW_S, read_config
from referee.contest import create_contest, require_no_contest

DEFAULT_IMAGES = 200
DEFAULT_CATEGORIES = 10
EXAMPLES = """\

# [[stations]]              # one more board with its own meter
# name = "station-2"
# meter = "TCPIP::192.168.1.21::INSTR"

# [[prizes]]                # by default there are three: Best score, Least energy and Highest accuracy
# name = "Best score"
# rule = "best-score"       # or "least-energy", "highest-map": docs/scoring.md

# [[tracks]]                # a track: teams hand in models or results files: docs/model-board.md, docs/entries.md
# name = "phones"
# rule = "ovic-classification"   # or "ovic-detection", "lpirc2018-track1", "dac-sdc"; "results": results files
# testset = "public"        # a test-set folder, relative to this file; holdout = "...": a second one, for prizes
# submissions_per_day = 3
# unconfined = false        # models run here confined (bubblewrap, or docs/deploy/referee-models.socket) or not at all
"""


def config_text(
    name: str,
    window_s: int,
    meter: str,
    testset: str,
    *,
    auto_arm: bool,
    update_interval_s: float = 0.25,
    ranges: tuple[float, float] | None = None,
    answers: Answers | None = None,
) -> str:
    """Return the text of a contest.toml with one station, all strings quoted.

    Fixed `ranges` are in volts and amperes. Without `answers`, as in rehearsals, teams have no limits, and the keys for
    them are comments.
    """
    own_answers, answer_tables = answer_lines(answers or Answers())
    fixed = (
        "voltage_range_v = {:g}\ncurrent_range_a = {:g}\n".format(*ranges)
        if ranges
        else ""
    )
    texts = {"name": name, "meter": meter, "testset": testset}
    # TOML's basic strings are JSON's without surrogate escapes, and with the control character 7F escaped.
    as_json = {key: json.dumps(text, ensure_ascii=False) for key, text in texts.items()}
    quoted = {key: text.replace("\x7f", "\\u007f") for key, text in as_json.items()}
    return (
        f"""\
name = {quoted["name"]}
window_s = {window_s}              # whole seconds from the first log-in
metric = "lpirc"            # the contests of 2015-2019 ran "ilsvrc-det": docs/scoring.md
testset = {quoted["testset"]}      # a test-set folder, relative to this file
shuffle = true              # each run sees the images in its own secret order
auto_arm = {str(auto_arm).lower()}            # true: a team's log-in arms its run, as in rehearsals
live_score = true           # a provisional score each second of an open run: referee run list
teams_see_score = false     # true: teams see it, too, rounded and every 30 s (GET /v1/session)
# trusted_proxy = ["127.0.0.1"]   # proxies whose statement of a client's address is accepted: docs/deploy
# official_makers = ["YOKOGAWA"]   # the makers whose meters are official; other makers need a driver: docs/energy.md
# count_unserved = true     # score detections even for images that the run was not served
{own_answers}
# freeze_at = 2027-06-20T15:30:00+02:00   # from then on the public results do not change until the board is unveiled
# ground_truth_secret_until = 2027-09-01T00:00:00+00:00   # bundles exported before lack the ground truth
# public_score = true       # the public board shows the provisional scores of open runs as teams would see them
# publish_by = 2            # a result is public once one person confirmed and another published it: docs/operators.md
# board_url = "https://lpirc.example/"   # the board as the hall reaches it, for the projector's QR code
# idle_baseline_s = 10      # arming measures the idle board for this long; results then show the energy above idle

{answer_tables}

[[stations]]
name = "station-1"
meter = {quoted["meter"]}   # a VISA address such as TCPIP::192.168.1.20::INSTR, or sim:
# voltage_range_v = 150     # fixed ranges, as found by: meter range ADDRESS; without them the meter ranges by itself
# current_range_a = 0.5
# mode = "rms"              # or "vmean", "dc"
# crest_factor = 3          # or 6, for currents with high peaks
# line_filter = false
# frequency_filter = false
# synchronize = "voltage"   # or "current", "off"
# element = "1"             # of a WT332E or WT333E: "1" to "3", or "sum"
# settle_s = 10             # seconds between setting the meter's ranges and the start, in addition to one update
# zero_max_age_min = 60     # arming compensates a zero level that is older; 0: never
# ambient_change_c = 5      # degrees C by which the hall may warm or cool after `meter zero`: drift of boards on DC
{fixed}update_interval_s = {update_interval_s}
# loopback_meter = true     # only for a real meter behind a tunnel at 127.0.0.1: without it the meter is unofficial
# clients = ["192.168.1.0/24"]   # accept requests for this station's runs only from these networks or addresses
"""
        + EXAMPLES
    )


@click.command()
@click.argument("folder", type=any_path)
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
    type=click.IntRange(1, LONGEST_WINDOW_S),
    default=600,
    show_default=True,
    help="Seconds.",
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
    images = DEFAULT_IMAGES if testset is None else len(load_test_set(testset).images)
    MeterAddress(meter)
    require_no_contest(folder)
    answers, taken = Given(
        attempts, per_attempt, least_map, backup_folder, yes
    ).complete(images)
    place = "testset" if testset is None else place_of(testset, folder)
    name = name or Path(os.path.realpath(folder)).name
    create_contest(
        folder,
        config_text(name, window_s, meter, place, auto_arm=auto_arm, answers=answers),
    )
    if taken:
        click.echo(f"Taken by default: {' '.join(taken)}", err=True)
    repeated = repeated_images(answers.attempts, answers.per_attempt, images)
    if repeated is not None:
        click.echo(f"Warning: {repeated}", err=True)
    if answers.backup == BACKUP_FOLDER:
        (folder / BACKUP_FOLDER).mkdir(exist_ok=True)
    if testset is None:
        click.echo(f"Preparing {folder / 'testset'}", err=True)
        synthesize(
            folder / "testset",
            images=DEFAULT_IMAGES,
            categories=DEFAULT_CATEGORIES,
            seed=1,
        )
    click.echo(
        f"Made {folder}. Next: referee team add NAME --contest {folder}; referee serve {folder}"
    )


def place_of(testset: Path, folder: Path) -> str:
    """Return a test set's path for contest.toml: relative if it lies in the contest folder or beside that."""
    real = Path(os.path.realpath(testset))
    contest = Path(os.path.realpath(folder))
    is_near = contest in real.parents or real.parent == contest.parent
    return os.path.relpath(real, contest) if is_near else str(real)


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
    """Serve the contest in FOLDER until Ctrl-C."""
    # Importing the server takes a fifth of a second, which other commands need not wait for.
    from referee.web.server import serve as serve_contest

    listen = listening(host, port, tls_cert, tls_key)
    config = read_config(folder)
    for station in config.stations:
        MeterAddress(station.meter)
    guard = None if _is_of_this_machine(host) else unguarded(config)
    serve_contest(folder, listen, partial(_say, guard), parent)


def _say(guard: str | None, ready: str) -> None:
    """Print that the contest is served, after the warning in `guard`, if any.

    A module-level function, so that it can be pickled for another process.
    """
    if guard is not None:
        click.echo(f"Warning: {guard}", err=True)
    click.echo(ready)


def _is_of_this_machine(host: str) -> bool:
    """Return True if only this machine can reach a server that listens on this host."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
