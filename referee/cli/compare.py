"""`referee compare`: two judged runs side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from referee.cli.listing import in_form, print_listing
from referee.cli.options import contest_folder
from referee.cli.terminal import Column
from referee.contest import Contest, open_contest
from referee.errors import RefereeError
from referee.judging.course import course_of
from referee.judging.explained import explain
from referee.judging.results import current_judgement, score_document

JUDGED = ("score", "map", "energy_wh", "mean_power_w", "elapsed_s", "window_s", "images", "detections")
MUST_AGREE = ("metric", "test_set", "window_s")


@click.command()
@click.argument("runs", metavar="RUN RUN", nargs=2)
@contest_folder
@in_form
def compare(runs: tuple[str, str], folder: Path, form: str | None) -> None:
    """Show two judged runs side by side, and what of the difference is mAP, what energy.

    RUN is a number, or a folder with one run as rehearse leaves it: referee compare rehearsals/A rehearsals/B
    """
    first, second = (_figures(run, folder) for run in runs)
    rows = [(name, *pair, _difference(*pair)) for name, pair in _pairs(first, second)]
    print_listing(
        form,
        [dict(zip(("figure", "first", "second", "difference"), row, strict=True)) for row in rows],
        ("figure", "first", "second", "difference"),
        [Column(""), *(Column(name, is_figure=True) for name in (*runs, "difference"))],
        [[*map(_text, row[:3]), _text(row[3], "+.4g")] for row in rows],
        title=f"Runs {runs[0]} and {runs[1]}",
        about="Two runs side by side, and the second less the first.",
        notes=["", *_notes(first, second)],
        empty="",
    )


def _figures(name: str, folder: Path) -> dict[str, Any]:
    """What is compared of a run, by name. Raises RefereeError, TestSetError."""
    is_number = name.isascii() and name.isdigit()
    with open_contest(folder if is_number else Path(name)) as contest:
        numbers = [int(name)] if is_number else [run.id for run in contest.store.runs()]
        if len(numbers) == 1:
            return _figures_of(contest, numbers[0])
    sentence = f"{name} has {len(numbers)} runs; name two by number: referee compare 1 2 --contest {name}"
    raise RefereeError("run-unknown", sentence)


def _figures_of(contest: Contest, number: int) -> dict[str, Any]:
    run = contest.store.run(number)
    judged = current_judgement(contest, run)
    if judged is None:
        sentence = f"Run {number} is not judged as it stands; see: referee judge {number}"
        raise RefereeError("run-state", sentence)
    course, found, document = (
        course_of(contest, run),
        explain(contest, run, judged),
        score_document(run, judged),
    )
    regret, posts_s = found.regret, course.posts_s.tolist()
    return (
        {"metric": document["metric"], "test_set": contest.test_set.digest[:12]}
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


def _pairs(first: dict[str, Any], second: dict[str, Any]) -> list[tuple[str, tuple[Any, Any]]]:
    """The figures of both by name; of the categories those first whose AP differ most."""
    pairs = {name: (first.get(name), second.get(name)) for name in first | second}
    return sorted(
        pairs.items(), key=lambda one: -abs(_difference(*one[1]) or 0) if one[0][:3] == "AP " else -2
    )


def _difference(first: Any, second: Any) -> float | None:
    are_figures = isinstance(first, int | float) and isinstance(second, int | float)
    return second - first if are_figures else None


def _notes(first: dict[str, Any], second: dict[str, Any]) -> Iterator[str]:
    if first["score"] and second["score"]:
        whole, of_map = (math.log(second[key] / first[key]) for key in ("score", "map"))
        factors = [f"{math.exp(one):.3f}" for one in (whole, of_map, whole - of_map)]
        yield "The second score is {} times the first: {} by mAP, {} by energy".format(*factors) + (
            f" (log ratio {whole:+.3f} = {of_map:+.3f} {whole - of_map:+.3f})."
        )
    differ = [name for name in MUST_AGREE if first[name] != second[name]]
    yield (
        f"These runs differ in {', '.join(differ)}."
        if differ
        else "Metric, test set and window are the same."
    )


def _text(value: object, form: str = ".5g") -> str:
    return "" if value is None else value if isinstance(value, str) else format(value, form)
