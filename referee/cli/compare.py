"""`referee compare`: two judged runs side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from referee.cli.listing import in_form, print_listing
from referee.cli.shared_options import contest_folder
from referee.cli.terminal import Column
from referee.contest import Contest, open_contest
from referee.errors import RefereeError
from referee.judging.course import course_of
from referee.judging.explained import explain
from referee.judging.results import current_judgement, score_document
from referee.store.records import Run, Score

JUDGED = ("score", "map", "energy_wh", "mean_power_w", "elapsed_s", "window_s", "images", "detections")
KEYS = ("figure", "first", "second", "difference")
RATIO = """\
The second score is {:.3f} times the first: {:.3f} by mAP, {:.3f} by energy (log ratio {:+.3f} = {:+.3f} {:+.3f})."""
MUST_AGREE = ("state", "metric", "test_set", "window_s")


@click.command()
@click.argument("runs", metavar="RUN RUN", nargs=2)
@contest_folder
@in_form
def compare(runs: tuple[str, str], folder: Path, form: str | None) -> None:
    """Show two judged runs side by side, and what of the difference is mAP, what energy.

    RUN is a number, or a folder with one run as rehearse leaves it: referee compare rehearsals/A rehearsals/B
    """
    first, second = (_figures(run, folder) for run in runs)
    pairs = [(name, first.get(name), second.get(name)) for name in first | second]
    rows = sorted(((*pair, _less(*pair[1:])) for pair in pairs), key=_place)
    documents = [dict(zip(KEYS, row, strict=True)) for row in rows]
    columns = [Column(""), *(Column(name, is_figure=True) for name in (*runs, "difference"))]
    texts = [["" if one is None else _text(one) for one in row] for row in rows]
    about, notes = "The difference is the second less the first.", ["", *_notes(first, second)]
    title = " and ".join(runs)
    print_listing(form, documents, KEYS, columns, texts, title=title, about=about, notes=notes, empty="")


def _figures(name: str, folder: Path) -> dict[str, Any]:
    """What is compared of a run, by name. Raises RefereeError, TestSetError."""
    is_number = name.isascii() and name.isdigit() and len(name) < 19  # the integers of SQLite
    with open_contest(folder if is_number else Path(name)) as contest:
        numbers = [int(name)] if is_number else [run.id for run in contest.store.runs()]
        if len(numbers) != 1:
            advice = f"name two by number: referee compare 1 2 --contest {name}"
            raise RefereeError("run-unknown", f"{name} has {len(numbers)} runs; {advice}")
        run = contest.store.run(numbers[0])
        judged = current_judgement(contest, run)
        if judged is None:
            sentence = f"Run {run.id} is not judged as it stands; see: referee judge {run.id}"
            raise RefereeError("run-state", sentence)
        return _figures_of(contest, run, judged)


def _figures_of(contest: Contest, run: Run, judged: Score) -> dict[str, Any]:
    course, found = course_of(contest, run), explain(contest, run, judged)
    document, regret, posts_s = score_document(run, judged), found.regret, course.posts_s.tolist()
    return (
        {"state": run.state.value, "metric": document["metric"], "test_set": contest.test_set.digest[:12]}
        | {name: document[name] for name in JUDGED}
        | {"images_fetched": len(course.served_s), "images_answered": len({*found.detections.image.tolist()})}
        | {"images_per_s": course.images_per_s, "first_post_s": min(posts_s, default=None)}
        | {"best_stop_s": None if regret is None else float(regret.elapsed_s[regret.best])}
        | {"regret": None if regret is None else regret.ratio}
        | {f"AP {one.name}": judged.ap.get(one.id) for one in contest.test_set.categories}
        | {f"errors {one.type}": one.count for one in found.costs}
        | {f"mAP lost by {one.type}": one.map for one in found.costs}
        | {f"check {one.code}": "ok" if one.ok else one.severity for one in judged.checks}
    )


def _text(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)


def _less(first: Any, second: Any) -> float | None:
    are_figures = isinstance(first, int | float) and isinstance(second, int | float)
    return second - first if are_figures else None


def _place(row: tuple[Any, ...]) -> float:
    """Where a row stands: the categories last, those first whose AP differ most."""
    return -abs(row[3] or 0.0) if row[0].startswith("AP ") else -2.0


def _notes(first: dict[str, Any], second: dict[str, Any]) -> Iterator[str]:
    if first["score"] and second["score"]:
        whole, of_map = (math.log(second[key] / first[key]) for key in ("score", "map"))
        logs = whole, of_map, whole - of_map
        yield RATIO.format(*map(math.exp, logs), *logs)
    differ = ", ".join(name for name in MUST_AGREE if first[name] != second[name])
    yield f"They differ in {differ}." if differ else "State, metric, test set and window are the same."
