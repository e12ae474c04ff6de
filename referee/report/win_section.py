"""The first section of a report: the run's place, the gaps to its neighbours, and what would have won."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from referee.contest import Contest
from referee.contest_rules import DEFAULT
from referee.judging.bound_rules import rule_of
from referee.judging.jury_decisions import NOT_PUBLISHED, is_published
from referee.judging.rank_gap import (
    Lever,
    LeverKind,
    effect_of_waiting,
    levers,
    place_of,
)
from referee.judging.ranking import SURE, Place, covered
from referee.judging.run_course import Course
from referee.judging.run_figures import Figures
from referee.judging.standings import standings
from referee.store.records import Run, RunState, Score


def board_section(
    contest: Contest,
    run: Run,
    figures: Figures,
    now: datetime,
) -> dict[str, Any]:
    """Return the run's place among its neighbours with the gaps to them, or why the run has no place."""
    found = place_of(contest, run, now)
    own = found.place
    if own is not None:
        neighbours = [(one, _sure(own, one)) for one in found.near]
        return {"place": own, "neighbours": neighbours, "gaps": found}
    why = found.why_none or _why_no_place(contest, run, figures)
    return {"place": None, "gaps": found, "no_place": f"This run is not ranked: {why}."}


def _why_no_place(contest: Contest, run: Run, figures: Figures) -> str:
    if run.state is RunState.VOID:
        return "it is void"
    if figures.not_ranked or figures.score is None:
        return figures.not_ranked or "it has no score"
    if not is_published(contest, run.id):
        return NOT_PUBLISHED
    for place in standings(contest, published_only=True).places:
        if place.standing.team == run.team:
            return f"the best run of its team is run {place.standing.run}"
    return "it has no score under the contest's present rules"


def lever_section(
    contest: Contest,
    run: Run,
    judged: Score,
    course: Course,
    shown: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the changes that would have raised the score, with their words, from the sections in `shown`.

    What rests on the energy is left out if a check failed: it may be off by more than any interval says.
    """
    if judged.map is None or rule_of(run) != DEFAULT:
        return {"levers": []}
    regret = None
    waiting = None
    if not judged.needs_review:
        regret = shown["regret"]
        waiting = effect_of_waiting(contest, run, course)
    found = levers(
        shown["gaps"].above,
        judged.map,
        shown["lever_costs"],
        regret,
        waiting,
    )
    return {"levers": [(one, _lever_words(one)) for one in found]}


def _lever_words(lever: Lever) -> str:
    if lever.kind is LeverKind.LOG_OUT:
        return f"log out about {lever.at_s:.1f} s after the start"
    if lever.kind is LeverKind.WAITING:
        return "ask for the first image at the very start"
    words = str(lever.error).replace("-", " ")
    return f"mend all errors of the type {words}"


def _sure(own: Place, other: Place) -> str:
    if own is other:
        return "this run"
    if None in (own.standing.score_low, other.standing.score_low):
        return "not known"
    covers = covered(own.standing, other.standing)
    for level in own.level_with:
        if level.team == other.standing.team:
            return f"{level.chance:.1%}" + (f" ({covers})" if covers else "")
    return covers or f"at least {SURE:.0%}"
