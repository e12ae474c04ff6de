"""`referee run list`: all runs with their final or provisional figures."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from pathlib import Path

import click

from lpirc_score.cli.terminal_tables import Column
from lpirc_score.tasks.words import words_of
from referee.cli.listing import in_form, print_listing
from referee.cli.run_marks import RARE_MARKS, marks_caption
from referee.cli.shared_options import contest_folder
from referee.clock import Clock
from referee.contest import open_contest
from referee.judging.figure_state import FigureState
from referee.judging.jury_decisions import unpublished
from referee.judging.ranking import NotRanked
from referee.judging.run_figures import Figures, figures_of, run_document
from referee.store.records import Run, RunState

NUMERIC = frozenset({"run", "time s", "Wh", "score"})
OLD_S = 10.0
CSV_COLUMNS = (
    *(
        "id",
        "team",
        "station",
        "heat",
        "state",
        "armed_utc",
        "opened_utc",
        "closed_utc",
        "closed_by",
    ),
    *(
        "elapsed_s",
        "energy_wh",
        "map",
        "score",
        "judged",
        "needs_review",
        "official",
        "refused",
    ),
    *(
        "void_reason",
        "extra_s",
        "reviewed",
        "not_ranked",
        "not_ranked_code",
        "images_seen",
    ),
    "figure_state",
    "waits_for",
)
MARKS = {"~": "so far", "!": "in review", "u": "unofficial meter"} | RARE_MARKS


@click.command("list")
@contest_folder
@in_form
def list_runs(folder: Path, form: str | None) -> None:
    """List the runs, oldest first.

    Figures marked ~ are provisional: the energy of an open run, the mAP and score of a run that is not judged yet.
    """
    with open_contest(folder, only_looks=True, as_served=True) as contest:
        now = Clock().utc()
        listed = [
            (one, figures_of(contest, one, now)) for one in contest.store.runs.find()
        ]
        waiting = unpublished(contest)
        name = contest.config.name
        accuracy = words_of(contest.config.task).accuracy
    heats = any(one.heat for one, _ in listed)
    rows = []
    for one, figures in listed:
        row = _cells(one, figures, heats=heats)
        if one.id in waiting:
            row[-1] = f"{row[-1]} p".strip()
        rows.append(row)
    print_listing(
        form,
        [
            run_document(one) | asdict(figures) | {"waits_for": waiting.get(one.id)}
            for one, figures in listed
        ],
        CSV_COLUMNS,
        _columns(accuracy, heats=heats),
        rows,
        title=f"{name}: runs",
        about="Every run, oldest first.",
        notes=[marks_caption(MARKS, rows)],
        empty="No run has been armed yet; see: referee run arm --help",
    )


def _columns(accuracy: str, *, heats: bool) -> list[Column]:
    heat = ["heat"] if heats else []
    names = [
        "run",
        "team",
        "station",
        *heat,
        "state",
        "time s",
        "Wh",
        accuracy,
        "score",
        "",
    ]
    figures = {*NUMERIC, accuracy}
    return [Column(name, is_figure=name in figures) for name in names]


def _cells(run: Run, figures: Figures, *, heats: bool) -> list[str]:
    energy = _figure(figures.energy_wh, is_so_far=run.state is RunState.OPEN)
    reached = [
        _figure(value, is_so_far=not figures.judged)
        for value in (figures.map, figures.score)
    ]
    names = [run.team, run.station, *([run.heat or ""] if heats else [])]
    return [
        str(run.id),
        *names,
        run.state,
        _figure(run.elapsed_s),
        energy,
        *reached,
        _marks(run, figures),
    ]


def _marks(run: Run, figures: Figures) -> str:
    marks = _age(figures) + _unread(figures)
    # A run whose energy is lost is in review even before it is judged.
    is_in_review = figures.figure_state is FigureState.IN_REVIEW
    needs_review = is_in_review or figures.needs_review
    applies = {
        "!": needs_review,
        "r": figures.reviewed and not needs_review,
        "b": figures.not_ranked_code is NotRanked.BELOW_LEAST_MAP,
        "l": figures.not_ranked_code is NotRanked.OUTSIDE_RULE,
        "x": run.extra_s,
        "i": figures.images_seen,
        "u": figures.energy_wh is not None and not run.official,
    }
    marks += "".join(mark for mark, is_set in applies.items() if is_set)
    return (
        f"{marks} {figures.refused} rows refused".strip() if figures.refused else marks
    )


def _age(figures: Figures) -> str:
    """Return the age of an open run's figures if it is so high that no process seems to update them; otherwise ""."""
    if figures.provisional_utc is None:
        return ""
    age_s = (
        Clock().utc() - datetime.fromisoformat(figures.provisional_utc)
    ).total_seconds()
    return f"{age_s:.0f} s old " if age_s > OLD_S else ""


def _unread(figures: Figures) -> str:
    """Return why a run that is not judged shows no score at present, or ""."""
    state = figures.figure_state
    return (
        f"{state} "
        if state in (FigureState.METER_AWAY, FigureState.INTEGRATOR_STOPPED)
        else ""
    )


def _figure(value: float | None, *, is_so_far: bool = False) -> str:
    return "" if value is None else ("~" if is_so_far else "") + f"{value:.4g}"
