"""`referee season`: ranks the teams of many contests."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, cast

import click

from lpirc_score.cli.terminal_tables import Column, one_line
from lpirc_score.files.atomic_write import write_atomically
from lpirc_score.metrics.evaluation_result import signature_parts
from lpirc_score.tasks.words import Words, words_of_scorer
from referee.cli.leaderboard_command import (
    MARKS,
    cells_of,
    columns_of,
    note_on,
    others_of,
    scored_by,
)
from referee.cli.listing import in_form, print_listing
from referee.cli.output_paths import results_folder
from referee.cli.run_marks import marks_caption
from referee.cli.shared_options import any_path
from referee.cli.worker_options import worker_options, workers_of
from referee.clock import Clock
from referee.errors import RefereeError
from referee.judging.ranking import Place
from referee.season.season_board import (
    SeasonBoard,
    SeasonStanding,
    is_verified,
    season_board,
)
from referee.season.season_doubts import DoubtCode
from referee.season.season_pins import read_pins
from referee.season.season_runs import frozen_sentence, read_season
from referee.workers.job_dispatch import mapped

if TYPE_CHECKING:
    from referee.judging.rejudge import Change

SEASON_MARKS = {
    "=": "its order with a neighbour is uncertain",
    **MARKS,
    "d": "measured or scored differently from most runs",
}
MOST_NAMED = 20
"""At most so many teams are listed where a name is none of them."""
KEYS = ["rank", *SeasonStanding.__dataclass_fields__, "level_with", "differs", "latest"]


@click.command()
@click.argument("paths", metavar="DIR...", nargs=-1, required=True, type=any_path)
@click.option(
    "--out", type=results_folder, help="Write season.html, .json and .csv there."
)
@click.option("--team", help="Show all runs of this team.")
@click.option(
    "--testset",
    type=any_path,
    help="Score all runs on this test set's images again, by its corrected ground truth; --out keeps the results.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="With --testset: show what would change, and store nothing.",
)
@worker_options
@in_form
def season(
    paths: tuple[Path, ...],
    out: Path | None,
    team: str | None,
    testset: Path | None,
    count: int | None,
    cluster: str | None,
    form: str | None,
    *,
    dry_run: bool,
) -> None:
    """Rank the teams of many contests by their best run: contest folders and bundles, which are only read."""
    if (testset and not out) or (dry_run and not testset):
        raise click.UsageError("--testset needs --out, and --dry-run needs --testset.")
    gc.disable()  # all that is read is kept: looking through it again and again takes a tenth of the time
    pins = read_pins(out)
    runs, problems = read_season(paths, Clock().utc(), pins)
    before = runs
    with workers_of(count, cluster) as workers:
        if testset and out:
            from referee.season.corrected_truth import (
                corrected,
            )  # most calls need not wait for these

            runs, more = corrected(runs, testset, out, Clock(), workers)
            problems += more
        board = season_board(runs, partial(mapped, workers) if workers else starmap)
    gc.enable()
    for sentence in problems + board.left_out + board.not_verified:
        click.echo(one_line(sentence), err=True)
    if not runs:
        raise RefereeError("season-empty", "None of these contests has a finished run.")
    if team and team not in board.history:
        raise _unknown(team, sorted(board.history))
    if testset:
        from referee.season.corrected_truth import changes

        _print_changes(
            changes(season_board(before).by_run, board.by_run),
            _words(board).accuracy,
            dry_run=dry_run,
        )
    if dry_run:
        return
    if out:
        out.mkdir(parents=True, exist_ok=True)
        for name in ("html", "json", "csv"):
            _print(
                board,
                name,
                None,
                testset,
                partial(write_atomically, out / f"season.{name}"),
            )
        pins.write(out)
    _print(board, form, team, testset, partial(click.echo, nl=False))


def _unknown(team: str, known: list[str]) -> RefereeError:
    """Return the error for a team without a run that has a score, with the teams that have one."""
    shown = ", ".join(known[:MOST_NAMED])
    beyond = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
    teams = f" The teams with one are {shown}{beyond}." if known else ""
    return RefereeError(
        "team-unknown",
        f"The team {team!r} has no run with a score in this season.{teams}",
    )


def _print(
    board: SeasonBoard,
    form: str | None,
    team: str | None,
    testset: Path | None,
    to: Callable[[bytes], None],
) -> None:
    metric = signature_parts(board.usual)["metric"]
    words = _words(board)
    *figures, run, marks = columns_of(metric)
    more = [
        Column(name, is_figure=name != "ended") for name in ("ended", "latest", "runs")
    ]
    places = board.history[team] if team else board.places
    shown = places if team else [*places, *board.unranked]
    rows = [_cells(board, place, metric) for place in shown]
    every = [one for its in board.histories for one in its]
    notes = [*filter(None, map(note_on, shown)), *board.left_out] if form else []
    if form:
        frozen = {
            one["contest"]: one["frozen_utc"]
            for one in board.documents
            if one["frozen_utc"]
        }
        notes += [f"{path}: {frozen_sentence(since)}" for path, since in frozen.items()]
    if testset:
        notes.append(
            f"Runs on the images of {testset.name} are scored by its corrected ground truth."
        )
    keys = KEYS
    if not others_of([*places, *board.unranked]):
        keys = [name for name in KEYS if name != "others"]
    print_listing(
        form,
        [one for one in board.documents if team in (None, one["team"])] if form else [],
        keys,
        [*figures, Column("contest"), run, *more, marks],
        rows,
        title="Season",
        about=f"The best run of each team by its score, {words.accuracy} / Wh. {scored_by(metric)}",
        notes=[marks_caption(SEASON_MARKS, rows), *notes],
        empty="No run has a score.",
        more=[_cells(board, place, metric) for place in every]
        if form == "html"
        else [],
        curves=_curves(board, shown) if form == "html" else "",
        to=to,
    )


def _words(board: SeasonBoard) -> Words:
    return words_of_scorer(signature_parts(board.usual)["metric"])


def _curves(board: SeasonBoard, shown: Sequence[Place]) -> str:
    """Draw the scores of the first teams over the season."""
    from referee.pages.local_times import utc_moment
    from referee.pages.score_curves import Curve, score_curves

    teams = dict.fromkeys(place.standing.team for place in shown)
    drawn = []
    for number, team in enumerate(teams, 1):
        runs = [cast(SeasonStanding, one.standing) for one in board.history[team]]
        points = [(utc_moment(one.utc), one.score) for one in runs]
        drawn.append(Curve(number, team, points))
    unit = f"{_words(board).accuracy} / Wh"
    return score_curves(drawn, f"Score of each run over time, in {unit}")


def _cells(board: SeasonBoard, place: Place, metric: str) -> list[str]:
    one = cast(SeasonStanding, place.standing)
    history = board.history[place.standing.team]
    *cells, number, marks = cells_of(place, metric)
    newest = history[-1].standing
    latest = f"{newest.score:.4f}" if is_verified(newest) else f"{newest.score:.4f} ?"
    if place.level_with:
        marks = "=" + marks
    if not is_verified(one):
        marks += "?"
    if any(doubt.code is DoubtCode.NOT_BOUND for doubt in one.doubts):
        marks += "n"
    return [*cells, one.contest, number, one.utc[:10], latest, str(len(history)), marks]


def _print_changes(
    found: tuple[Change, ...],
    accuracy: str,
    *,
    dry_run: bool,
) -> None:
    from referee.cli.rejudge_command import print_changes
    from referee.judging.rejudge import Rejudged

    if not found:
        click.echo(
            "Every run on these images was judged by this ground truth already.",
            err=True,
        )
    elif dry_run:
        print_changes(Rejudged(found, ()), accuracy)
    if dry_run:
        click.echo("No board was written.", err=True)
