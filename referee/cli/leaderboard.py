"""`referee leaderboard`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from referee.cli.options import as_csv, as_html, as_json, contest_folder, require_one_form
from referee.cli.terminal import RARE_MARKS, Column, marks_caption, print_table
from referee.clock import Clock
from referee.contest import Contest, open_contest
from referee.files.tables import harmless, table_bytes
from referee.judging.leaderboard import Standing
from referee.judging.prizes import Award
from referee.judging.results import Standings, place_document, standings, unranked_document
from referee.pages.table import table_page
from referee.scoring.result import DIGEST_LENGTH, RULES_VERSION, signature_parts
from referee.scoring.rules import PUBLISHED

MARKS = {"!": "needs review", "u": "unofficial meter", "d": "differs from the leader"} | RARE_MARKS
CONDITIONS = {
    "least-energy": " (needs an accuracy of {:.5f} or more)",
    "highest-map": " (needs {:.4f} Wh or less)",
}


@click.command()
@contest_folder
@as_json
@as_csv
@as_html
def leaderboard(folder: Path, *, as_json: bool, as_csv: bool, as_html: bool) -> None:
    """Rank the best judged run of each team by its score.

    Orders that are less than 95 % sure are named; intervals are for the mean over other test sets of this size.
    """
    require_one_form(as_json, as_csv, as_html)
    with open_contest(folder) as contest:
        found, metric, name = standings(contest), contest.config.metric, contest.config.name
    for run in found.left_out:
        why = "it has no score" if run.judged_by is None else _otherwise(run.judged_by, contest)
        click.echo(f"Run {run.run} of {run.team} is left out: {why}.", err=True)
    if any(run.judged_by is not None for run in found.left_out):
        click.echo("What judging them again would change: referee rejudge --all --dry-run", err=True)
    for one in (place.standing for place in found.places if not place.standing.complete):
        why = f"was judged by an earlier version, or in part; see: referee judge {one.run}"
        click.echo(f"Run {one.run} of {one.team} {why}", err=True)
    rows = [place_document(place) for place in found.places]
    rows += [unranked_document(one, why) for one, why in found.unranked]
    for row in rows:
        row["prizes"] = [one.name for one in found.awards if row["rank"] and row["team"] in one.teams]
    if as_json:
        click.echo(json.dumps(rows))
    elif as_csv:
        click.echo(_csv(rows), nl=False)
    elif as_html:
        click.echo(_page(found, metric, name), nl=False)
    else:
        _print(found, metric)


def _otherwise(judged_by: str, contest: Contest) -> str:
    config, was = contest.config, signature_parts(judged_by)
    now = {"metric": config.metric, "window": f"{config.window_s}s", "rules": str(RULES_VERSION)}
    now["gt"] = contest.test_set.digest[:DIGEST_LENGTH]
    others = [
        f"{name} {was[name]}, now {value}" for name, value in now.items() if was.get(name, value) != value
    ]
    return f"it was judged otherwise ({'; '.join(others) or judged_by})"


def _csv(rows: list[dict[str, Any]]) -> bytes:
    fields = ["rank", *Standing.__dataclass_fields__, "level_with", "differs", "not_ranked", "prizes"]
    for row in rows:
        row["level_with"] = " ".join(f"{rival['team']}:{rival['chance']:.3f}" for rival in row["level_with"])
        row["differs"], row["prizes"] = "; ".join(row["differs"]), "; ".join(row["prizes"])
    return table_bytes(fields, map(harmless, rows))


def _page(found: Standings, metric: str, name: str) -> str:
    rows = []
    for place in found.places:
        one = place.standing
        marks = ["needs review: a check failed"] * one.needs_review
        marks += ["unofficial meter"] * (not one.official)
        marks += [f"measured otherwise: {what}" for what in place.differs]
        orders = ", ".join(f"{chance:.1%} with {team}" for team, chance in place.level_with)
        marks += [*_notes(one), *[f"its order is not sure ({orders})"] * bool(orders)]
        rows.append((_cells(place.rank, one, metric), f"{one.team}: {'; '.join(marks)}" if marks else ""))
    for one, why in found.unranked:
        marks = ["not ranked, " + why, *_notes(one)]
        rows.append((_cells(None, one, metric), f"{one.team}: {'; '.join(marks)}"))
    columns = [(one.name, one.is_figure) for one in _columns(metric)]
    caption = " ".join(
        [
            f"The best run of each team by its score, mAP / Wh. mAP is by the metric {metric}.",
            *map(_award, found.awards),
        ]
    )
    return table_page(f"{name}: leaderboard", caption, columns, rows, Clock().utc())


def _notes(one: Standing) -> list[str]:
    notes = [] if one.reviewed is None else [f"reviewed: {one.reviewed}"]
    return notes + ([f"{one.extra_s:g} s of extra time"] if one.extra_s else [])


def _award(one: Award) -> str:
    bar = "" if one.bar is None else CONDITIONS.get(one.rule, "").format(one.bar)
    return f"{one.name}{bar}: {' and '.join(one.teams) or 'no team'}."


def _columns(metric: str) -> list[Column]:
    maps = [f"mAP {name}" for name in dict.fromkeys((metric, PUBLISHED))]
    figures = [Column(name, is_figure=True) for name in ("score", "95 % interval", *maps, "energy Wh", "run")]
    return [Column("", is_figure=True), Column("team"), *figures]


def _cells(rank: int | None, one: Standing, metric: str) -> list[str]:
    between = "" if one.score_low is None else f"{one.score_low:.4f} to {one.score_high:.4f}"
    maps = {metric: one.map} | ({} if metric == PUBLISHED else {PUBLISHED: one.map_ilsvrc_det})
    reached = ["" if value is None else f"{value:.5f}" for value in maps.values()]
    cells = [f"{one.score:.4f}", between, *reached, f"{one.energy_wh:.4f}", str(one.run)]
    return ["-" if rank is None else str(rank), one.team, *cells]


def _print(found: Standings, metric: str) -> None:
    shown = [(place.rank, place.standing, place.differs) for place in found.places]
    listed = [*shown, *((None, one, ()) for one, _ in found.unranked)]
    if not listed:
        click.echo("No judged run has a score yet; see: referee judge --all", err=True)
        return
    rows = []
    for rank, one, differs in listed:
        marks = "!" * one.needs_review + "r" * (one.reviewed is not None) + "u" * (not one.official)
        marks += "d" * bool(differs) + "x" * bool(one.extra_s) + "b" * (rank is None)
        rows.append([*_cells(rank, one, metric), marks])
    print_table((*_columns(metric), Column("")), rows, marks_caption(MARKS, rows))
    for award in found.awards:
        click.echo(_award(award))
    for place in found.places:
        notes = [f"its order with {team} is {chance:.1%} sure" for team, chance in place.level_with]
        notes += [*place.differs, *_notes(place.standing)]
        if notes:
            click.echo(f"{place.standing.team}: {', '.join(notes)}.")
    for one, why in found.unranked:
        click.echo(f"Run {one.run} of {one.team} is not ranked: {', '.join([why, *_notes(one)])}.")
