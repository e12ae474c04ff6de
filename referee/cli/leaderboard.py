"""`referee leaderboard`."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import click

from referee.cli.options import as_json, contest_folder
from referee.cli.terminal import Column, print_table
from referee.contest import open_contest
from referee.judging.leaderboard import Place, Standing
from referee.judging.results import place_document, standings

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
        found = standings(contest)
    for run in found.left_out:
        why = "it has no score" if run.judged_by is None else f"it was judged by {run.judged_by}"
        click.echo(f"Run {run.run} of {run.team} is left out: {why}.", err=True)
    rows = [place_document(place) for place in found.places]
    if as_json:
        click.echo(json.dumps(rows))
    elif as_csv:
        click.echo(_csv(rows), nl=False)
    else:
        _print(found.places)


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
    print_table(COLUMNS, rows, "! needs review   u unofficial meter")
    for place in places:
        if place.level_with:
            click.echo(
                f"{place.standing.team} overlaps {', '.join(place.level_with)}: chance may have decided their order."
            )
