"""The questions that `referee init` asks about limits for teams and about backups, and their lines in contest.toml."""

from __future__ import annotations

import json
import math
import sys
from dataclasses import dataclass
from typing import Any

import click

ATTEMPTS = 1
LEAST_MAP = (
    0.01  # a third of the weakest champion's; a hundred blind rows reached 0.0002
)
BACKUP_FOLDER = "backups"  # in the contest folder
SHOWN_PER_ATTEMPT = 100
SHOWN_BACKUP = "/media/stick"  # in the lines of those that are not set
COMMENT_COLUMN = 26


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
    below = "judged runs with a lower mAP are not ranked: guessed rows and an early log-out also give a score"
    more = "runs that a team may have, not counting void runs; for one more: referee run arm --anyway"
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


def _line(is_set: bool, setting: str, comment: str) -> str:
    written = setting if is_set else f"# {setting}"
    return f"{written.ljust(COMMENT_COLUMN)}  # {comment}"


class _Share(click.FloatRange):
    """The option type of an mAP, which refuses NaN; click.FloatRange alone would accept it."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        found = float(super().convert(value, param, ctx))
        if math.isnan(found):
            self.fail(f"{value} is not in the range 0<=x<=1.", param, ctx)
        return found


MAP = _Share(0, 1)

attempts_option = click.option(
    "--attempts",
    type=click.IntRange(0),
    help=f"Runs of a team; 0: no limit; default: {ATTEMPTS}.",
)
per_attempt_option = click.option(
    "--per-attempt",
    type=click.IntRange(0),
    help="Images of a run; 0: all. By default, so many that no attempt repeats an image.",
)
least_map_option = click.option(
    "--least-map",
    type=MAP,
    help=f"Least mAP of a ranked run; 0: every run is ranked; default: {LEAST_MAP:g}.",
)
backup_option = click.option(
    "--backup-folder",
    help=f'Folder for copies while serving, best on another disk; "": none; default: {BACKUP_FOLDER} in FOLDER.',
)
yes_option = click.option(
    "--yes",
    is_flag=True,
    help="Ask no questions: missing options take their defaults.",
)


@dataclass(frozen=True)
class Given:
    """The options given on the command line; an option that was not given is None.

    `yes`: ask no questions.
    """

    attempts: int | None
    per_attempt: int | None
    least_map: float | None
    backup: str | None
    yes: bool

    def complete(self, images: int) -> tuple[Answers, list[str]]:
        """Ask on a terminal for missing options, else take their defaults; also return the options that took a default.

        `images` is the number of images in the test set. Raises click.UsageError if the options need more images.
        """
        taken: list[str] = []
        attempts = self._of(
            "--attempts",
            self.attempts,
            "Attempts of each team (0: no limit)",
            click.IntRange(0),
            ATTEMPTS,
            taken,
        )
        if self.per_attempt is None and attempts > images:
            raise click.UsageError(
                f"{attempts} attempts of {images} images leave no image for each; "
                "give fewer --attempts, or --per-attempt."
            )
        most = images // attempts if attempts > 1 else 0
        drawn = click.IntRange(0, images)
        per_attempt = self._of(
            "--per-attempt",
            self.per_attempt,
            f"Images of an attempt, of {images} (0: all)",
            drawn,
            most,
            taken,
        )
        if per_attempt > images:
            raise click.UsageError(
                f"--per-attempt {per_attempt} is more than the {images} images of the test set."
            )
        least_map = self._of(
            "--least-map",
            self.least_map,
            "Least mAP that is ranked (0: any)",
            MAP,
            LEAST_MAP,
            taken,
        )
        question = f"Folder for backups, best on another disk ({BACKUP_FOLDER}: in the contest folder)"
        backup = self._of(
            "--backup-folder", self.backup, question, str, BACKUP_FOLDER, taken
        )
        return Answers(attempts, per_attempt, least_map or None, backup.strip()), taken

    def _of(
        self,
        option: str,
        given: Any,
        question: str,
        kind: Any,
        default: Any,
        taken: list[str],
    ) -> Any:
        """Return one answer: the given option, the user's input, or the default, which is then added to `taken`."""
        if given is not None:
            return given
        if sys.stdin.isatty() and not self.yes:
            return click.prompt(question, type=kind, default=default, err=True)
        taken.append(f"{option} {default}")
        return default
