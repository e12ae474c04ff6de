"""The questions that `referee init` asks about limits for teams and about backups."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import click

from referee.cli.number_types import Accuracy, WholeNumber
from referee.config.contest_text import ATTEMPTS, BACKUP_FOLDER, LEAST_MAP, Answers

MAP = Accuracy()

attempts_option = click.option(
    "--attempts",
    type=WholeNumber(0),
    help=f"Runs of a team; 0: no limit; default: {ATTEMPTS}.",
)
per_attempt_option = click.option(
    "--per-attempt",
    type=WholeNumber(0),
    help="Images of a run; 0: all. By default, so many that no attempt repeats an image.",
)
least_map_option = click.option(
    "--least-map",
    type=MAP,
    help=f"Least accuracy of a ranked run; 0: every run is ranked; default: {LEAST_MAP:g}.",
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
            WholeNumber(0),
            ATTEMPTS,
            taken,
        )
        if self.per_attempt is None and attempts > images:
            raise click.UsageError(
                f"{attempts} attempts of {images} images leave no image for each; "
                "give fewer --attempts, or --per-attempt."
            )
        most = images // attempts if attempts > 1 else 0
        drawn = WholeNumber(0, images)
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
            "Least accuracy that is ranked (0: any)",
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
