"""`referee run list`: every run with its figures, of record or so far."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from referee.cli.options import as_json, contest_folder
from referee.cli.report import current_judgement
from referee.cli.terminal import Column, print_whole
from referee.contest import Contest, open_contest
from referee.judging.checks import is_scorable
from referee.scoring import score
from referee.store.records import Run, RunState

FIGURES = frozenset({"run", "time s", "Wh", "mAP", "score"})
CAPTION = "~ so far   ! needs review   u unofficial meter"


@dataclass(frozen=True)
class Figures:
    """What is known of a run: `energy_wh` of record unless it is open, the rest so far unless it is `judged`."""

    energy_wh: float | None
    map: float | None
    score: float | None
    needs_review: bool | None
    judged: bool


@click.command("list")
@contest_folder
@as_json
def list_runs(folder: Path, *, as_json: bool) -> None:
    """List the runs, oldest first.

    What is marked ~ is how the run stands so far: its energy while it is open, its mAP and score until it is judged.
    """
    with open_contest(folder) as contest:
        listed = [(one, figures_of(contest, one)) for one in contest.store.runs()]
    if as_json:
        documents = [asdict(one) | {"official": one.official} | asdict(told) for one, told in listed]
        click.echo(json.dumps(documents))
    elif listed:
        _print(listed)
    else:
        click.echo("No run has been armed yet; see: referee run arm --help", err=True)


def figures_of(contest: Contest, run: Run) -> Figures:
    """The figures of a run: as judged, else as far as they are known.

    What was published of a run while it was open says nothing of its energy once it is closed.
    """
    judged = current_judgement(contest, run)
    if judged is not None:
        return Figures(run.energy_wh, judged.map, judged.score, judged.needs_review, judged=True)
    so_far = contest.store.provisional(run.id)
    reached = None if so_far is None else so_far.map
    energy_wh = run.energy_wh
    if run.state is RunState.OPEN and so_far is not None:
        energy_wh = so_far.energy_wh
    scored = score(reached, energy_wh) if reached is not None and is_scorable(energy_wh) else None
    return Figures(energy_wh, reached, scored, None, judged=False)


def _print(listed: Sequence[tuple[Run, Figures]]) -> None:
    heats = any(one.heat for one, _ in listed)
    heat = ["heat"] if heats else []
    names = ["run", "team", "station", *heat, "state", "time s", "Wh", "mAP", "score", ""]
    columns = [Column(name, is_figure=name in FIGURES) for name in names]
    print_whole(columns, [_row(one, told, heats=heats) for one, told in listed], CAPTION)


def _row(run: Run, told: Figures, *, heats: bool) -> list[str]:
    energy = _figure(told.energy_wh, is_so_far=run.state is RunState.OPEN)
    reached = [_figure(value, is_so_far=not told.judged) for value in (told.map, told.score)]
    marks = ("!" if told.needs_review else "") + ("u" if energy and not run.official else "")
    heat = [run.heat or ""] if heats else []
    return [
        str(run.id),
        run.team,
        run.station,
        *heat,
        run.state,
        _figure(run.elapsed_s),
        energy,
        *reached,
        marks,
    ]


def _figure(value: float | None, *, is_so_far: bool = False) -> str:
    return "" if value is None else ("~" if is_so_far else "") + f"{value:.4g}"
