"""`referee leaderboard`."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from pathlib import Path

import click

from referee.cli.options import as_json, contest_folder
from referee.cli.terminal import Column, print_whole
from referee.contest import Contest, open_contest
from referee.judging.leaderboard import Place, Standing, rank
from referee.store.records import Run, RunState, Score

COLUMNS = (
    *(Column("", is_figure=True), Column("team")),
    *(Column(name, is_figure=True) for name in ("score", "95 % interval", "mAP", "energy Wh", "run")),
    Column(""),
)


@click.command()
@contest_folder
@as_json
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
def leaderboard(folder: Path, *, as_json: bool, as_csv: bool) -> None:
    """Rank the best judged run of each team by its score.

    Teams whose score intervals overlap are named beside each other: chance may have ordered them.
    """
    if as_json and as_csv:
        raise click.UsageError("Give either --json or --csv.")
    with open_contest(folder) as contest:
        places = rank(standings(contest))
    rows = [
        {"rank": one.rank} | asdict(one.standing) | {"level_with": list(one.level_with)} for one in places
    ]
    if as_json:
        click.echo(json.dumps(rows))
    elif as_csv:
        click.echo(_csv(rows), nl=False)
    else:
        _print(places)


def standings(contest: Contest) -> list[Standing]:
    """Every judged run that has a score by the contest's present rules; void runs are out.

    What is left out for another reason is told on stderr.
    """
    found = []
    for run in contest.store.runs(RunState.JUDGED):
        score = contest.store.latest_score(run.id)
        if score is None or score.score is None or score.energy_wh is None:
            click.echo(f"Run {run.id} of {run.team} is left out: it has no score.", err=True)
            continue
        if not _is_comparable(contest, run, score):
            click.echo(f"Run {run.id} of {run.team} is left out: judged by {score.signature}.", err=True)
            continue
        low, high = (None, None)
        if score.interval is not None:
            low, high = score.interval.score_low, score.interval.score_high
        found.append(
            Standing(
                team=run.team,
                run=run.id,
                score=score.score,
                score_low=low,
                score_high=high,
                map=score.map,
                energy_wh=score.energy_wh,
                needs_review=score.needs_review,
                official=run.official,
            )
        )
    return found


def _is_comparable(contest: Contest, run: Run, score: Score) -> bool:
    """Whether a score was made by the contest's metric, on its test set, in its window."""
    config = contest.config
    same_rules = score.signature.partition("|")[0] == config.metric
    return same_rules and run.testset_digest == contest.test_set.digest and run.window_s == config.window_s


def _csv(rows: list[dict[str, object]]) -> str:
    text = io.StringIO()
    fields = ["rank", *Standing.__dataclass_fields__, "level_with"]
    writer = csv.DictWriter(text, fields, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow(row | {"level_with": " ".join(map(str, row["level_with"]))})  # type: ignore[call-overload]
    return text.getvalue()


def _print(places: tuple[Place, ...]) -> None:
    if not places:
        click.echo("No judged run has a score yet; see: referee judge --all", err=True)
        return
    rows = []
    for place in places:
        one = place.standing
        between = "" if one.score_low is None else f"{one.score_low:.4f} to {one.score_high:.4f}"
        marks = ("!" if one.needs_review else "") + ("" if one.official else "u")
        figures = (f"{one.score:.4f}", between, f"{one.map:.5f}", f"{one.energy_wh:.4f}", str(one.run))
        rows.append((str(place.rank), one.team, *figures, marks))
    print_whole(COLUMNS, rows, "! needs review   u unofficial meter")
    for place in places:
        if place.level_with:
            click.echo(
                f"{place.standing.team} overlaps {', '.join(place.level_with)}: chance may order them."
            )
