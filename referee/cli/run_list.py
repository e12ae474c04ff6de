"""`referee run list`: every run with its figures, final or provisional."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import click

from referee.cli.options import as_csv, as_html, as_json, contest_folder, require_one_form
from referee.cli.terminal import RARE_MARKS, Column, marks_caption, print_table
from referee.clock import Clock
from referee.contest import open_contest
from referee.files.tables import harmless, table_bytes
from referee.judging.results import Figures, figures_of, run_document
from referee.pages.table import table_page
from referee.store.records import Run, RunState

NUMERIC = frozenset({"run", "time s", "Wh", "mAP", "score"})
OLD_S = 10.0
CSV_COLUMNS = (
    *("id", "team", "station", "heat", "state", "armed_utc", "opened_utc", "closed_utc", "closed_by"),
    *(
        "elapsed_s",
        "energy_wh",
        "map",
        "score",
        "judged",
        "needs_review",
        "official",
        "refused",
        "void_reason",
    ),
    *("extra_s", "reviewed", "not_ranked"),
)
MARKS = {"~": "so far", "!": "needs review", "u": "unofficial meter"} | RARE_MARKS


@click.command("list")
@contest_folder
@as_json
@as_csv
@as_html
def list_runs(folder: Path, *, as_json: bool, as_csv: bool, as_html: bool) -> None:
    """List the runs, oldest first.

    Figures marked ~ are provisional: the energy of an open run, the mAP and score of a run that is not judged yet.
    """
    require_one_form(as_json, as_csv, as_html)
    with open_contest(folder) as contest:
        listed = [(one, figures_of(contest, one)) for one in contest.store.runs()]
        name = contest.config.name
    documents = [run_document(one) | asdict(figures) for one, figures in listed]
    if as_json:
        click.echo(json.dumps(documents))
    elif as_csv:
        rows = [{key: one[key] for key in CSV_COLUMNS} for one in documents]
        click.echo(table_bytes(CSV_COLUMNS, map(harmless, rows)), nl=False)
    elif as_html:
        click.echo(_page(listed, name), nl=False)
    elif listed:
        _print(listed)
    else:
        click.echo("No run has been armed yet; see: referee run arm --help", err=True)


def _page(listed: Sequence[tuple[Run, Figures]], name: str) -> str:
    heats = any(one.heat for one, _ in listed)
    rows = []
    for one, figures in listed:
        marks = ["needs review: a check failed"] * bool(figures.needs_review)
        marks += [f"reviewed: {figures.reviewed}"] * bool(figures.reviewed)
        marks += [f"not ranked: {figures.not_ranked}"] * bool(figures.not_ranked)
        marks += [f"{one.extra_s or 0:g} s of extra time"] * bool(one.extra_s)
        marks += ["unofficial meter"] * (figures.energy_wh is not None and not one.official)
        remark = f"run {one.id} of {one.team}: {'; '.join(marks)}" if marks else ""
        rows.append((_cells(one, figures, heats=heats), remark))
    columns = [(column.name, column.is_figure) for column in _columns(heats=heats)[:-1]]
    caption = "Every run, oldest first; ~ marks figures so far, of a run that is not judged."
    return table_page(f"{name}: runs", caption, columns, rows, Clock().utc())


def _print(listed: Sequence[tuple[Run, Figures]]) -> None:
    heats = any(one.heat for one, _ in listed)
    rows = [[*_cells(one, figures, heats=heats), _marks(one, figures)] for one, figures in listed]
    print_table(_columns(heats=heats), rows, marks_caption(MARKS, rows))


def _columns(*, heats: bool) -> list[Column]:
    heat = ["heat"] if heats else []
    names = ["run", "team", "station", *heat, "state", "time s", "Wh", "mAP", "score", ""]
    return [Column(name, is_figure=name in NUMERIC) for name in names]


def _cells(run: Run, figures: Figures, *, heats: bool) -> list[str]:
    energy = _figure(figures.energy_wh, is_so_far=run.state is RunState.OPEN)
    reached = [_figure(value, is_so_far=not figures.judged) for value in (figures.map, figures.score)]
    names = [run.team, run.station, *([run.heat or ""] if heats else [])]
    return [str(run.id), *names, run.state, _figure(run.elapsed_s), energy, *reached]


def _marks(run: Run, figures: Figures) -> str:
    marks = _age(figures) + ("!" if figures.needs_review else "r" if figures.reviewed else "")
    marks += "b" * bool(figures.not_ranked) + "x" * bool(run.extra_s)
    marks += "u" if figures.energy_wh is not None and not run.official else ""
    return f"{marks} {figures.refused} rows refused".strip() if figures.refused else marks


def _age(figures: Figures) -> str:
    """How old the figures of an open run are, once no one seems to follow it."""
    if figures.provisional_utc is None:
        return ""
    age_s = (Clock().utc() - datetime.fromisoformat(figures.provisional_utc)).total_seconds()
    return f"{age_s:.0f} s old " if age_s > OLD_S else ""


def _figure(value: float | None, *, is_so_far: bool = False) -> str:
    return "" if value is None else ("~" if is_so_far else "") + f"{value:.4g}"
