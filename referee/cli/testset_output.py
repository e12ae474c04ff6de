"""Parts that the `referee testset` commands share: options, progress, facts of a set, the table of problems."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from lpirc_score.cli.terminal_tables import Column, print_table
from lpirc_testsets import (
    Problems,
    Reports,
    TestSet,
    TestSetError,
    read_labels,
)
from lpirc_testsets.truth_records import kind_of, truth_of
from referee.cli.number_types import WholeNumber
from referee.cli.output_paths import folder_to_make

out_option = click.option(
    "--out", type=folder_to_make, required=True, help="The new test-set folder."
)
show_option = click.option(
    "--show",
    type=WholeNumber(1),
    default=20,
    show_default=True,
    help="List at most this many problems; all are counted.",
)
seed_option = click.option(
    "--seed",
    type=WholeNumber(0),
    default=0,
    show_default=True,
    help="Same seed, same images.",
)


@contextmanager
def reporting(show: int, *, as_json: bool) -> Iterator[Reports]:
    """In the block, show the progress on stderr; if the set is refused, print the table of problems."""
    console = Console(stderr=True)
    problems = Problems(limit=show)
    columns = (
        TextColumn("images"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    try:
        with (
            warnings.catch_warnings(action="ignore", category=UserWarning),
            Progress(*columns, console=console, disable=not console.is_terminal) as bar,
        ):  # Pillow warns of EXIF data that a camera left broken; the image itself is whole
            task = bar.add_task("images", total=None)
            yield Reports(
                problems,
                lambda done, total: bar.update(task, completed=done, total=total),
            )
    except TestSetError as error:
        if problems.count == 0:
            problems.add(*(error.problems or [error.sentence]), remedy="")
        if (
            as_json or problems.rows[0].remedy or error.problems
        ):  # what one sentence says needs no table
            print_problems(problems, as_json=as_json, code=error.code)
        raise


def print_problems(problems: Problems, *, as_json: bool, **facts: str) -> None:
    """Print a table of the problems kept, and the number of problems of each kind."""
    names = ("file", "place", "problem", "value", "remedy")
    values_of = attrgetter(*names)
    cells = [[*values_of(row)] for row in problems.rows]
    if as_json:
        table = [dict(zip(names, row, strict=True)) for row in cells]
        document = {
            "problems": problems.kept,
            "total": problems.count,
            "kinds": problems.kinds,
            "table": table,
        }
        click.echo(json.dumps(facts | document))
        return
    headings = [
        Column(name)
        for name in ("file", "line or image", "problem", "value", "what to do")
    ]
    rest = problems.count - len(cells)
    print_table(headings, cells, f"{rest} more are not shown (--show)." if rest else "")
    for kind, count in problems.kinds.most_common():
        click.echo(f"{count:>7}  {kind}")


def report(
    test_set: TestSet,
    notes: Sequence[str] = (),
    *,
    as_json: bool,
) -> None:
    """Print a summary of a new set, and the notes of its import."""
    facts: dict[str, object] = {
        "folder": str(test_set.folder),
        "name": test_set.name,
        "images": len(test_set.images),
        "categories": len(test_set.categories),
        "objects": test_set.objects,
        "digest": test_set.digest,
    }
    facts["ground_truth"] = kind = kind_of(test_set)
    what = ""
    if kind == "labels":
        facts["labels"] = len(set(read_labels(test_set).by_image.tolist()))
        what = f" of {facts['labels']} labels"
    elif kind != "nothing":
        what = _contents(test_set, kind, facts)
    line = f"{test_set.folder}: {len(test_set.images)} images{what}, digest {test_set.digest}"
    if as_json:
        click.echo(json.dumps(facts | {"notes": [*notes]}))
        return
    for sentence in (line, *notes):
        click.echo(sentence)


def _contents(
    test_set: TestSet,
    kind: str,
    facts: dict[str, object],
) -> str:
    """Add figures to `facts`, and return them in words."""
    truth = truth_of(test_set)
    used = len(set(truth.category.tolist()))
    empty = len(test_set.images) - len(set(truth.image.tolist()))
    facts["categories_with_objects"] = used
    facts["images_without_objects"] = empty
    categories = f"{used} of {len(test_set.categories)} categories"
    if kind == "classes":
        return f" of {categories}"
    noun = "regions" if kind == "label maps" else "objects"
    without = f" ({empty} without {noun})" if empty else ""
    return f"{without}, {test_set.objects} {noun} in {categories}"
