"""Where a suite is: a folder made by `referee suite init`, or a plan by itself."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from lpirc_tracks.suites.suite_file import SUITE_NAME, TABLE_NAME
from referee.errors import RefereeError
from referee.presence import is_file, is_folder


@dataclass(frozen=True)
class SuitePlace:
    """The files of the plan and of the table.

    `words` name both to `referee suite status` and `run`, `score_words` to `referee suite score`.
    """

    plan: Path
    table: Path
    words: str
    score_words: str


def suite_place(given: Path, out: Path | None = None) -> SuitePlace:
    """Find the plan and the table of a folder, or of a plan's file, whose table is in the current folder.

    `out` is another table. Raises RefereeError `no-suite` for a folder without a plan.
    """
    is_whole = is_folder(given)
    plan = plan_in(given)
    table = out or (given / TABLE_NAME if is_whole else Path(TABLE_NAME))
    name = shlex.quote(str(given))
    words = name if out is None else f"{name} --out {shlex.quote(str(out))}"
    score_words = f"{shlex.quote(str(table))} --suite {name}"
    if is_whole and out is None:
        score_words = name
    return SuitePlace(plan, table, words, score_words)


def plan_in(given: Path) -> Path:
    """Return the plan's file of a suite's folder, or the file itself. Raises RefereeError `no-suite`."""
    if not is_folder(given):
        return given
    plan = given / SUITE_NAME
    if not is_file(plan):
        sentence = f"{given} has no {SUITE_NAME}; make a suite in a new folder with: referee suite init aiotbench"
        raise RefereeError("no-suite", sentence)
    return plan
