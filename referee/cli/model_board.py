"""`referee model board`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from referee.cli.options import as_json, contest_folder
from referee.contest import Contest, open_contest
from referee.tracks import Measured, Track
from referee.tracks.submissions.board import Board, Candidate, board
from referee.tracks.submissions.frontier_plot import PlotPoint, check_plot_path, write_plot
from referee.tracks.submissions.open_track import open_track

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
        "model_file",
    ),
    *("model_sha256", "official", "sentence"),
)


@click.command("board")
@click.option("--track", required=True, help="A track of the contest.")
@click.option("--holdout", is_flag=True, help="The standings on the hold-out test set.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw accuracy over latency: FILE.png or .svg.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV: the places only.")
@contest_folder
@as_json
def board_command(
    track: str, plot: Path | None, folder: Path, *, holdout: bool, as_csv: bool, as_json: bool
) -> None:
    """Rank each team's best submission to a track over all builds; what is not valid is listed below, with why."""
    if as_json and as_csv:
        raise click.UsageError("Give either --json or --csv.")
    if plot is not None:
        check_plot_path(plot)
    with open_contest(folder) as contest:
        opened = open_track(contest, track, holdout=holdout, to_run=False)
        made = board(opened.rule, candidates(contest, track, opened.split, opened.digest))
    for warning in opened.rule.warnings():
        click.echo(f"referee: warning: {warning}", err=True)
    if plot is not None:
        _draw(plot, opened.rule, made, f"{_name(track, opened.rule)}, {opened.split}")
    if as_json:
        told = {"track": track, "split": opened.split, "rule": _rule_document(opened.rule)}
        click.echo(json.dumps(told | _document(made)))
    elif as_csv:
        click.echo(_csv(made), nl=False)
    else:
        _print(track, opened.split, opened.rule, made)


def candidates(contest: Contest, track: str, split: str, digest: str) -> list[Candidate]:
    """The measured submissions of a track on a test set that stand; what else is left out is told on stderr."""
    found: list[Candidate] = []
    handed_in: dict[tuple[str, str], int] = {}
    for one in contest.store.submissions(track):
        if one.withdrawn is None:
            handed_in.setdefault((one.team, one.model_sha256), one.id)
        if one.split != split or one.withdrawn is not None or one.measurement is None:
            continue
        if one.testset_digest != digest:
            click.echo(
                f"Submission {one.id} of {one.team} is left out: it was measured on another test set.",
                err=True,
            )
            continue
        measured = None if one.measurement.measured is None else Measured(**one.measurement.measured)
        found.append(
            Candidate(
                submission=one.id,
                team=one.team,
                build=one.build,
                model_file=one.model_file,
                model_sha256=one.model_sha256,
                measured=measured,
                sentence=one.measurement.sentence,
                handed_in=handed_in[one.team, one.model_sha256],
                official=one.measurement.official,
            )
        )
    return found


def _rule_document(rule: Track) -> dict[str, Any]:
    """What the board was judged by."""
    return {"name": rule.name, "title": rule.title, "metric": rule.metric, "settings": rule.settings()}


def _document(made: Board) -> dict[str, Any]:
    return {
        "places": _places(made),
        "invalid": [
            {
                "submission": one.submission,
                "team": one.team,
                "build": one.build,
                "model_file": one.model_file,
                "model_sha256": one.model_sha256,
                "sentence": sentence,
            }
            for one, sentence in made.invalid
        ],
    }


def _places(made: Board) -> list[dict[str, Any]]:
    return [
        {
            "rank": line.rank,
            "team": line.candidate.team,
            "metric": line.verdict.value,
            "accuracy_percent": line.verdict.accuracy_percent,
            "latency_ms": line.verdict.latency_ms,
            "submission": line.candidate.submission,
            "build": line.candidate.build,
            "builds": line.builds,
            "model_file": line.candidate.model_file,
            "model_sha256": line.candidate.model_sha256,
            "official": line.candidate.official,
            "sentence": line.verdict.sentence,
        }
        for line in made.lines
    ]


def _csv(made: Board) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_places(made))
    return text.getvalue()


def _draw(path: Path, rule: Track, made: Board, title: str) -> None:
    points = [
        PlotPoint(line.candidate.team, line.verdict.latency_ms, line.verdict.accuracy_percent)
        for line in made.lines
    ]
    points += [
        PlotPoint(one.team, one.measured.latency_ms, one.measured.accuracy_percent, is_valid=False)
        for one, _ in made.invalid
        if one.measured is not None
    ]
    write_plot(path, points, rule.accuracy_at, rule.aim(), title)


def _name(track: str, rule: Track) -> str:
    return f"{track} ({rule.title})"


def _print(track: str, split: str, rule: Track, made: Board) -> None:
    table = Table(title=f"{_name(track, rule)}, {split} test set: {rule.metric}", title_justify="left")
    table.caption = None if all(line.candidate.official for line in made.lines) else "u unofficial meter"
    table.add_column("")
    table.add_column("team")
    for heading in ("metric", "accuracy %", "latency ms", "submission", "builds"):
        table.add_column(heading, justify="right")
    table.add_column("")
    for line in made.lines:
        verdict = line.verdict
        figures = (f"{verdict.value:.4f}", f"{verdict.accuracy_percent:.3f}", f"{verdict.latency_ms:.3f}")
        own = (str(line.candidate.submission), str(line.builds), "" if line.candidate.official else "u")
        table.add_row(str(line.rank), line.candidate.team, *figures, *own)
    console = Console(soft_wrap=True, highlight=False, markup=False)
    none = f"{_name(track, rule)}, {split} test set: no valid submission stands yet."
    console.print(table if made.lines else none)
    for one, sentence in made.invalid:
        console.print(f"Submission {one.submission} of {one.team} is not valid: {sentence}")
