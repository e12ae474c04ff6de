"""`referee compare`: two judged runs side by side."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from pathlib import Path

import click

from lpirc_score.cli.terminal_tables import Column
from referee.cli.listing import in_form, print_listing
from referee.cli.output_paths import FILE_FORMATS, ZIP
from referee.cli.shared_options import contest_folder
from referee.contest import open_contest
from referee.errors import RefereeError
from referee.judging.run_comparison import (
    Compared,
    Row,
    compared,
    differing,
    log_ratios,
    rows,
)
from referee.judging.run_figures import current_judgement
from referee.presence import is_file

RATIO = """\
The second score is {:.3f} times the first: {:.3f} by mAP, {:.3f} by energy (log ratio {:+.3f} = {:+.3f} {:+.3f})."""


def _two(
    ctx: click.Context, param: click.Parameter, value: tuple[str, ...]
) -> tuple[str, ...]:
    """Check that two runs are named."""
    for one in value:
        is_named_so = Path(one).suffix.lower() in FILE_FORMATS
        if not one.isdecimal() and (is_named_so or is_file(Path(one))):
            raise click.UsageError(_of_file(one, value), ctx)
    if len(value) != 2:
        named = ", ".join(map(repr, value))
        advice = "name two, as in: referee compare 1 2"
        raise click.UsageError(
            f"Two runs are compared, not {len(value)} ({named}); {advice}", ctx
        )
    return value


def _of_file(name: str, given: tuple[str, ...]) -> str:
    """Return why a file is no run: after --html and --csv people write the file of the output."""
    path = Path(name)
    by_number = "runs are compared by number: referee compare 1 2"
    if not is_file(path):
        return f"{name} is no run; {by_number}. To keep the output in a file, write > {shlex.quote(name)}"
    if path.suffix.lower() == ZIP:
        return (
            f"{name} is a zip, such as the bundle of a run; {by_number}, or by the folders of two contests with a run "
            f"each. To judge the run of a bundle again: referee bundle verify {shlex.quote(name)}"
        )
    files = [shlex.quote(one) for one in given if is_file(Path(one))]
    both = " ".join(files if len(files) == len(given) == 2 else ["FILE", "FILE"])
    return f"{name} is a file, and {by_number}. For files of detections: referee score GROUND_TRUTH {both}"


@click.command()
@click.argument("runs", metavar="RUN RUN", nargs=-1, required=True, callback=_two)
@contest_folder
@in_form
def compare(runs: tuple[str, str], folder: Path, form: str | None) -> None:
    """Show two judged runs side by side, and how much of the difference comes from mAP and from energy.

    RUN is a number, or a folder with one run as rehearse leaves it: referee compare rehearsals/A rehearsals/B
    """
    both = (_compared(runs[0], folder), _compared(runs[1], folder))
    found = rows(*both)
    columns = [
        Column(""),
        *(Column(name, is_figure=True) for name in (*runs, "difference")),
    ]
    words = both[0].words
    named = {"map": words.accuracy, "detections": words.answers}
    texts = [[named.get(row.figure, row.figure), *map(_text, row[1:])] for row in found]
    about = "Each difference is the second value minus the first."
    notes = ["", *_notes(*both)]
    print_listing(
        form,
        [row._asdict() for row in found],
        Row._fields,
        columns,
        texts,
        title=" and ".join(runs),
        about=about,
        notes=notes,
        empty="",
    )


def _compared(name: str, folder: Path) -> Compared:
    """Return the figures of a run to compare, given its number or its folder. Raises RefereeError, TestSetError."""
    is_number = (
        name.isascii() and name.isdigit() and len(name) < 19
    )  # the integers of SQLite
    with open_contest(
        folder if is_number else Path(name), only_looks=True, as_served=True
    ) as contest:
        numbers = (
            [int(name)] if is_number else [run.id for run in contest.store.runs.find()]
        )
        if not numbers:
            sentence = f"The contest {name} has no runs to compare yet."
            raise RefereeError("run-unknown", sentence)
        if len(numbers) > 1:
            advice = (
                f"name two by number: referee compare 1 2 --contest {shlex.quote(name)}"
            )
            raise RefereeError(
                "run-unknown", f"{name} has {len(numbers)} runs; {advice}"
            )
        run = contest.store.runs.get(numbers[0])
        judged = current_judgement(contest, run)
        if judged is None:
            sentence = (
                f"Run {run.id} has no current judgement; run: referee judge {run.id}"
            )
            raise RefereeError("run-state", sentence)
        return compared(contest, run, judged)


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _notes(first: Compared, second: Compared) -> Iterator[str]:
    if (logs := log_ratios(first, second)) is not None:
        ratio = first.words.said(RATIO)
        yield ratio.format(*map(math.exp, logs), *logs)
    differ = ", ".join(differing(first, second))
    yield (
        f"They differ in {differ}."
        if differ
        else "State, metric, test set and window are the same."
    )
