"""`referee model board`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from lpirc_score.cli.terminal_tables import Column, print_table
from lpirc_score.files.csv_tables import harmless, table_bytes
from lpirc_tracks import Track
from lpirc_tracks.frontier_plot import Plot, PlotPoint, check_plot_path
from lpirc_tracks.submissions.open_track import configured_track, open_track
from lpirc_tracks.submissions.publishing import unsettled_sentence
from lpirc_tracks.submissions.track_board import Board, Candidate, board, candidates
from referee.cli.shared_options import any_path, as_json, contest_folder
from referee.clock import Clock
from referee.contest import open_contest

CONFINED = {None: "", True: "yes", False: "no"}
MODEL_KEYS = ("model_file", "model_sha256")
COLUMNS = (
    *(
        "rank",
        "team",
        "metric",
        "accuracy_percent",
        "latency_ms",
        "submission",
        "build",
        "builds",
    ),
    *(*MODEL_KEYS, "official", "confined", "measured_by", "sentence"),
)


@click.command("board")
@click.option("--track", required=True, help="A track of the contest.")
@click.option(
    "--holdout", is_flag=True, help="Show the board of the hold-out test set."
)
@click.option(
    "--plot",
    type=any_path,
    help="Plot accuracy against latency into FILE.png or FILE.svg.",
)
@click.option(
    "--csv", "as_csv", is_flag=True, help="Print CSV: valid submissions only."
)
@contest_folder
@as_json
def board_command(
    track: str,
    plot: Path | None,
    folder: Path,
    *,
    holdout: bool,
    as_csv: bool,
    as_json: bool,
) -> None:
    """Rank each team's best submission to a track over all builds. Invalid submissions follow, with the reason."""
    if as_json and as_csv:
        raise click.UsageError("Give either --json or --csv.")
    if plot is not None:
        check_plot_path(plot)
    with open_contest(folder, only_looks=True) as contest:
        opened = open_track(contest, track, holdout=holdout, to_run=False)
        config = configured_track(contest, track)
        provisional = unsettled_sentence(contest, config, Clock().utc())
        found = candidates(contest.store.submissions.all(track), opened.split)
    for one in found:
        if one.made.testset_digest != opened.digest:
            reason = "it was measured on another test set"
            click.echo(
                f"Submission {one.made.id} of {one.made.team} is left out: {reason}.",
                err=True,
            )
    rule = opened.rule
    made = board(
        rule, [one for one in found if one.made.testset_digest == opened.digest]
    )
    for warning in rule.warnings():
        click.echo(f"referee: warning: {warning}", err=True)
    title = f"{track} ({rule.title}), {opened.split}"
    if provisional is not None:
        click.echo(provisional, err=True)
    if plot is not None:
        Plot(_points(made), rule.accuracy_at, rule.aim(), title).write(plot)
    if as_json:
        judged_by: dict[str, Any] = {"name": rule.name, "title": rule.title}
        judged_by |= {"metric": rule.metric, "settings": rule.settings()}
        document = {
            "track": track,
            "split": opened.split,
            "rule": judged_by,
            "places": _places(made, rule),
        }
        invalid = [_of(one) | {"sentence": sentence} for one, sentence in made.invalid]
        click.echo(
            json.dumps(document | {"invalid": invalid, "provisional": provisional})
        )
    elif as_csv:
        click.echo(
            table_bytes((*COLUMNS, *rule.columns), map(harmless, _places(made, rule))),
            nl=False,
        )
    else:
        _print(made, rule, f"{title} test set")


def _of(one: Candidate) -> dict[str, Any]:
    made = {
        key: getattr(one.made, key)
        for key in ("team", "build", "measured_by", *MODEL_KEYS)
    }
    return {
        "submission": one.made.id,
        "confined": one.confined,
        "unstable": one.made.is_unstable,
    } | made


def _places(made: Board, rule: Track) -> list[dict[str, Any]]:
    places = []
    for line in made.lines:
        one = line.candidate
        verdict = line.verdict
        place = _of(one) | {
            "rank": line.rank,
            "builds": line.builds,
            "official": one.official,
        }
        place |= {
            "metric": verdict.value,
            "sentence": verdict.sentence + one.made.origin,
        }
        place |= {
            "accuracy_percent": verdict.accuracy_percent,
            "latency_ms": verdict.latency_ms,
        }
        figures = {name: verdict.figures.get(name) for name in rule.columns}
        places.append({column: place[column] for column in COLUMNS} | figures)
    return places


def _points(made: Board) -> list[PlotPoint]:
    lines = [
        (f"{one.candidate.made.team}{one.candidate.made.origin}", one.verdict)
        for one in made.lines
    ]
    points = [
        PlotPoint(who, verdict.latency_ms, verdict.accuracy_percent)
        for who, verdict in lines
    ]
    return points + [
        PlotPoint(
            one.made.team,
            one.measured.latency_ms,
            one.measured.accuracy_percent,
            is_valid=False,
        )
        for one, _ in made.invalid
        if one.measured is not None
    ]


def _print(made: Board, rule: Track, title: str) -> None:
    figures = (
        "metric",
        "accuracy %",
        "latency ms",
        *rule.columns,
        "submission",
        "builds",
    )
    columns = [Column(name.replace("_", " "), is_figure=True) for name in figures]
    rows = []
    for line in made.lines:
        one = line.candidate
        verdict = line.verdict
        who = one.made.team + one.made.origin
        first = (
            str(line.rank),
            who,
            f"{verdict.value:.4f}",
            f"{verdict.accuracy_percent:.3f}",
        )
        own = (
            f"{verdict.figures[name]:.5g}" if name in verdict.figures else ""
            for name in rule.columns
        )
        last = (
            str(one.made.id),
            str(line.builds),
            CONFINED[one.confined],
            "" if one.official else "u",
        )
        rows.append((*first, f"{verdict.latency_ms:.3f}", *own, *last))
    click.echo(f"{title}: {rule.metric if rows else 'no valid submission yet.'}")
    if rows:
        columns = [Column(""), Column("team"), *columns, Column("confined"), Column("")]
        print_table(columns, rows, "u unofficial meter")
    for one, sentence in made.invalid:
        state = "to be measured again" if one.made.is_unstable else "not valid"
        if one.made.doubt is not None:
            state = "without a place"
        who = f"{one.made.team}{one.made.origin}"
        click.echo(f"Submission {one.made.id} of {who} is {state}: {sentence}")
