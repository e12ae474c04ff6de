"""Meetings: two runs compared head to head, by the points of LPIRC 2016."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from referee.contest import Contest
from referee.contest_rules import ContestRule
from referee.errors import RefereeError
from referee.judging.bound_rules import signed_rule
from referee.judging.ranking import NotRanked, head_to_head
from referee.judging.run_figures import Figures, current_judgement, judged_figures
from referee.store.records import Run, RunState


class Undecided(StrEnum):
    """Why a run cannot be compared with another one, or not yet."""

    NOT_OVER = "not-over"
    NOT_JUDGED = "not-judged"
    NOT_PUBLISHED = "not-published"
    IN_REVIEW = "in-review"
    NO_ENERGY = "no-energy"
    OTHER_RULE = "other-rule"
    VOID = "void"


@dataclass(frozen=True)
class Pending:
    """A run that cannot be compared: why, and the error that tells an operator what to do."""

    why: Undecided
    error: RefereeError


@dataclass(frozen=True)
class Side:
    """One of the two runs of a meeting, with its figures and points."""

    run: Run
    figures: Figures
    points: int


@dataclass(frozen=True)
class Meeting:
    """Two judged runs of different teams; `one_heat` is True if they started in the same heat."""

    sides: tuple[Side, Side]
    one_heat: bool


def meeting(
    contest: Contest,
    first: int,
    second: int,
) -> Meeting:
    """Decide between two runs: 2 points for the higher score, 1 each for a tie.

    A score below `least_map`, or outside a limit of the rule, is treated as no score.

    Raises RefereeError `run-unknown`, `not-opponents` (both runs are
    of one team), `run-state` (not judged, void, or in review), and `energy-missing` if the energy may still be read.
    """
    one = contest.store.runs.get(first)
    other = contest.store.runs.get(second)
    if one.team == other.team:
        sentence = f"Runs {first} and {second} are both of {one.team}; name the run of another team."
        raise RefereeError("not-opponents", sentence)
    figures = _decided(contest, one)
    of_other = _decided(contest, other)
    rule = contest.config.contest_rule
    points, points_of_other = points_of(figures, of_other, rule)
    sides = (
        Side(one, figures, points),
        Side(other, of_other, points_of_other),
    )
    return Meeting(sides, one_heat=one.heat is not None and one.heat == other.heat)


def points_of(
    figures: Figures, of_other: Figures, rule: ContestRule
) -> tuple[int, int]:
    """Return the points of two runs that can be compared, by the contest's rule."""
    first = _score_that_counts(figures)
    second = _score_that_counts(of_other)
    return head_to_head(first, second, rule)


def _score_that_counts(figures: Figures) -> float | None:
    return None if figures.not_ranked else figures.score


def _decided(contest: Contest, run: Run) -> Figures:
    found = comparable(contest, run)
    if isinstance(found, Pending):
        raise found.error
    return found


def comparable(contest: Contest, run: Run) -> Figures | Pending:
    """Return the figures with which a run can be compared, or why it cannot."""
    if run.state is RunState.VOID:
        sentence = f"Run {run.id} is void: {run.void_reason}; name another run."
        return _pending(Undecided.VOID, sentence)
    if run.state in (RunState.ARMED, RunState.OPEN):
        sentence = (
            f"Run {run.id} is {run.state}; wait until it has ended and is judged."
        )
        return _pending(Undecided.NOT_OVER, sentence)
    judged = current_judgement(contest, run)
    if run.state is not RunState.JUDGED or judged is None:
        sentence = f"Run {run.id} has no current judgement; see: referee judge {run.id}"
        return _pending(Undecided.NOT_JUDGED, sentence)
    if signed_rule(judged.signature) != contest.config.contest_rule.signed:
        sentence = f"Run {run.id} was armed with another [rule] than contest.toml has now; put that back to compare it."
        return _pending(Undecided.OTHER_RULE, sentence)
    figures = judged_figures(contest, run, judged)
    if figures.energy_wh is None:
        why = (
            f"run {run.id} of {run.team} has no energy; see: referee run show {run.id}"
        )
        sentence = f"The meeting cannot be decided: {why}"
        return _pending(Undecided.NO_ENERGY, sentence, "energy-missing")
    if figures.not_ranked_code is NotRanked.IN_REVIEW:
        why = f"run {run.id} of {run.team}: {figures.not_ranked}"
        how = f'accept the run (referee run review {run.id} --note "…") or void it'
        sentence = f"The meeting cannot be decided: {why}; {how}."
        return _pending(Undecided.IN_REVIEW, sentence)
    return figures


def _pending(why: Undecided, sentence: str, code: str = "run-state") -> Pending:
    return Pending(why, RefereeError(code, sentence))
