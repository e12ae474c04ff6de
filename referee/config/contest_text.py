"""The text of a new contest.toml, which explains its own keys; what is not set stands there as a comment."""

from __future__ import annotations

import json
from dataclasses import dataclass

from lpirc_score.tasks import BOXES
from lpirc_score.tasks.words import words_of

ATTEMPTS = 1
LEAST_MAP = (
    0.01  # a third of the weakest champion's; a hundred blind rows reached 0.0002
)
BACKUP_FOLDER = "backups"  # in the contest folder
SHOWN_PER_ATTEMPT = 100
SHOWN_BACKUP = "/media/stick"  # in the lines of those that are not set
COMMENT_COLUMN = 26
EXAMPLES = """\

# [rule]                    # what runs are ranked by; without it, mAP / Wh: docs/rules.md
# name = "accuracy-within-limit"   # or "least-energy", "accuracy-per-excess-wh", "floors-then-energy"
# energy_limit_wh = 5.0     # or power_limit_w, time_limit_s, image_limit_s

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


@dataclass(frozen=True)
class Answers:
    """The answers.

    `attempts` of 0 means no limit, `per_attempt` of 0 all images; `least_map` of None and a blank `backup` mean none.
    """

    attempts: int = 0
    per_attempt: int = 0
    least_map: float | None = None
    backup: str = ""


def repeated_images(attempts: int, per_attempt: int, images: int) -> str | None:
    """Return a warning if a team can get an image a second time in a later run; None if it cannot."""
    of_run = per_attempt or images
    if attempts == 1 or (attempts and attempts * of_run <= images):
        return None
    runs = (
        f"{attempts} attempts of {of_run} images"
        if attempts
        else f"any number of runs of {of_run} images"
    )
    repeat = f"The test set has {images} images, for {runs} of each team"
    look_up = "a team that keeps the images of one run can answer the next run without detecting"
    most = images // attempts if attempts else 0
    fewer = f"per_attempt = {most} in [images], or " if most else ""
    return f"{repeat}: {look_up}; write {fewer}attempts = 1."


def answer_lines(answers: Answers) -> tuple[str, str]:
    """Return the lines of contest.toml for the answers: the keys and the tables.

    A setting without a value becomes a comment.
    """
    least_map = answers.least_map or LEAST_MAP
    backup = json.dumps(answers.backup or SHOWN_BACKUP, ensure_ascii=False).replace(
        "\x7f", "\\u007f"
    )
    per_attempt = answers.per_attempt or SHOWN_PER_ATTEMPT
    below = "judged runs with a lower accuracy are not ranked: guesses and an early log-out also give a score"
    more = "runs that a team may have, not counting void runs; for one more: referee run arm TEAM --anyway"
    drawn = "the number of images of a run, those new to the team first; without this line, all images"
    copies = "copies of database and settings while the contest is served; the newest 12 stay"
    where = "best on another disk; every_min = 10 is the default: docs/operators.md"
    journal = "a second copy of everything acknowledged, best on another disk: docs/operators.md"
    elsewhere = (
        "mount the disk before the first start; default: the folder journal here"
    )
    own = [
        _line(answers.least_map is not None, f"least_map = {least_map:g}", below),
        _line(answers.attempts > 0, f"attempts = {answers.attempts or ATTEMPTS}", more),
    ]
    tables = [
        _line(answers.per_attempt > 0, "[images]", "which images a run gets"),
        _line(answers.per_attempt > 0, f"per_attempt = {per_attempt}", drawn),
        "",
        _line(bool(answers.backup), "[backup]", copies),
        _line(bool(answers.backup), f"folder = {backup}", where),
        "",
        _line(False, "[journal]", journal),
        _line(False, 'path = "/media/disk/journal"', elsewhere),
    ]
    return "\n".join(own), "\n".join(tables)


def _task_line(task: str) -> str:
    """Return the line of the task; a contest of boxes has it as a comment."""
    is_set = task != BOXES
    shown = json.dumps(task if is_set else "classification")
    what = "what teams answer instead of boxes; each task has its own figure: docs/scoring.md"
    return _line(is_set, f"task = {shown}", what)


def _line(is_set: bool, setting: str, comment: str) -> str:
    written = setting if is_set else f"# {setting}"
    return f"{written.ljust(COMMENT_COLUMN)}  # {comment}"


def config_text(
    name: str,
    window_s: int,
    meter: str,
    testset: str,
    *,
    auto_arm: bool,
    auto_judge: bool = True,
    update_interval_s: float = 0.25,
    ranges: tuple[float, float] | None = None,
    answers: Answers | None = None,
    task: str = BOXES,
) -> str:
    """Return the text of a contest.toml with one station, all strings quoted.

    Fixed `ranges` are in volts and amperes. Without `answers`, as in rehearsals, teams have no limits, and the keys for
    them are comments.
    """
    own_answers, answer_tables = answer_lines(answers or Answers())
    own_answers = words_of(task).said(own_answers)
    fixed = (
        "voltage_range_v = {:g}\ncurrent_range_a = {:g}\n".format(*ranges)
        if ranges
        else ""
    )
    texts = {"name": name, "meter": meter, "testset": testset}
    # TOML's basic strings are JSON's without surrogate escapes, and with the control character 7F escaped.
    as_json = {key: json.dumps(text, ensure_ascii=False) for key, text in texts.items()}
    quoted = {key: text.replace("\x7f", "\\u007f") for key, text in as_json.items()}
    return f"""\
name = {quoted["name"]}
window_s = {window_s}              # whole seconds from the first log-in
metric = "lpirc"            # the contests of 2015-2019 ran "ilsvrc-det": docs/scoring.md
{_task_line(task)}
testset = {quoted["testset"]}      # a test-set folder, relative to this file
shuffle = true              # each run sees the images in its own secret order
auto_arm = {str(auto_arm).lower()}            # true: a team's log-in arms its run, as in rehearsals
auto_judge = {str(auto_judge).lower().ljust(5)}          # true: each run is judged when it is over
live_score = true           # a provisional score each second of an open run: referee run list
teams_see_score = false     # true: teams see it, too, rounded and every 30 s (GET /v1/session)
# trusted_proxy = ["127.0.0.1"]   # proxies whose statement of a client's address is accepted: docs/deploy
# official_makers = ["YOKOGAWA"]   # the makers whose meters are official; other makers need a driver: docs/energy.md
# count_unserved = true     # score answers even for images that the run was not served
{own_answers}
# freeze_at = 2027-06-20T15:30:00+02:00   # from then on the public results do not change until the board is unveiled
# ground_truth_secret_until = 2027-09-01T00:00:00+00:00   # bundles exported before lack the ground truth
# public_score = true       # the public board shows the provisional scores of open runs as teams would see them
# publish_by = 2            # a result is public once one person confirmed and another published it: docs/operators.md
# board_url = "https://lpirc.example/"   # the board as the hall reaches it, for the projector's QR code
# heats = "knock-out"       # what the rounds of heats are, or "round-robin": docs/operators.md
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
""" + words_of(task).said(EXAMPLES)
