"""The uncertainty budget of a judged run's energy as pages and terminals show it: in the words of lpirc_power."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from lpirc_power.report.budget_words import HEADINGS, budget_rows, budget_summary
from referee.judging.score_uncertainty import budget_of_score
from referee.store.records import Score


@dataclass(frozen=True)
class BudgetShown:
    """The figures of a budget by name, or why there are none, and the table of its terms."""

    is_known: bool
    figures: tuple[tuple[str, str], ...]
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def budget_shown(judged: Score | None) -> BudgetShown | None:
    """Return the budget of a judgement; None without an energy, or for a judgement by an earlier version."""
    budget = None if judged is None else budget_of_score(judged)
    if budget is None:
        return None
    rows = tuple(astuple(row) for row in budget_rows(budget))
    figures = tuple(budget_summary(budget).items())
    return BudgetShown(budget.is_known, figures, HEADINGS, rows)
