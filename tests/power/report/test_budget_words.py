from __future__ import annotations

from dataclasses import replace

import pytest

from lpirc_power.energy.budget import Budget, Distribution, Term
from lpirc_power.energy.spread import budget_of_mean, spread_of
from lpirc_power.report.budget_words import (
    HEADINGS,
    BudgetRow,
    budget_rows,
    budget_summary,
)

READING = Term(
    "reading", "the error of the reading", 0.1, "%", Distribution.RECTANGULAR, 0.06, "IM WT310E-02EN, page 7-7"
)  # fmt: skip


def test_a_row_has_everything_that_a_budget_of_the_gum_states() -> None:
    (row,) = budget_rows(Budget(6.0, (READING,)))
    assert row == BudgetRow(
        name="the error of the reading",
        limit="\N{PLUS-MINUS SIGN}0.1 %",
        distribution="rectangular",
        sensitivity="0.06 Wh/%",
        standard="0.00346 Wh",
        share="100.0%",
        source="IM WT310E-02EN, page 7-7",
    )
    assert len(HEADINGS) == len(vars(row))


def test_an_unknown_term_is_a_row_that_says_so() -> None:
    lacking = replace(READING, half_width=None, source="No driver states it.")
    (row,) = budget_rows(Budget(6.0, (lacking,)))
    assert (row.limit, row.standard, row.share) == ("unknown", "unknown", "")
    summary = budget_summary(Budget(6.0, (lacking,)))
    assert summary == {"uncertainty": Budget(6.0, (lacking,)).unknown}


@pytest.mark.parametrize(
    ("attempts", "words"),
    [(2, "Student, 1 degree of freedom"), (4, "Student, 3 degrees of freedom")],
)
def test_a_spread_names_its_degrees_of_freedom(attempts: int, words: str) -> None:
    spread = spread_of([6.0 + one / 10 for one in range(attempts)])
    assert spread is not None
    assert budget_rows(Budget(6.0, (spread,)))[0].distribution == words


def test_each_figure_of_the_summary_is_named_for_what_it_is() -> None:
    summary = budget_summary(Budget(6.0, (READING,)))
    assert summary == {
        "uncertainty": "+-0.0057 Wh (+-0.095 %) with 95.45 %, k = 1.65",
        "expanded": "+-0.0069 Wh (+-0.12 %), k = 2",
        "guaranteed": "+-0.0060 Wh (+-0.10 %), the sum of the limits",
        "terms": "100% the error of the reading",
    }


def test_a_guaranteed_limit_of_bursts_is_of_the_largest_power_and_says_so() -> None:
    """A load of bursts may be at its highest power at the window's ends: the interval is then the wider one."""
    ends = replace(
        READING,
        code="start-stop",
        distribution=Distribution.MIXED,
        profile=(0.5, 5.0),
    )
    budget = Budget(6.0, (ends,))
    assert budget.coverage_wh is not None
    assert budget.guaranteed_wh is not None
    assert budget.coverage_wh < budget.guaranteed_wh
    summary = budget_summary(budget)
    assert summary["guaranteed"].endswith(", with start and stop at the largest power")


def test_an_energy_of_0_has_no_percentages() -> None:
    assert budget_summary(Budget(0.0, (READING,)))["uncertainty"].startswith(
        "+-0.0057 Wh with"
    )


def test_the_guaranteed_limit_of_a_mean_says_that_it_is_of_these_attempts_alone() -> (
    None
):
    budgets = [Budget(energy_wh, (READING,)) for energy_wh in (6.0, 6.2)]
    said = budget_summary(budget_of_mean(budgets))["guaranteed"]
    assert said == (
        "+-0.0060 Wh (+-0.098 %), the sum of the limits, for these attempts alone, without the spread between "
        "attempts, which has no limit"
    )


def test_a_guaranteed_limit_above_idle_says_what_it_leaves_out() -> None:
    spread = replace(
        READING,
        code="idle-spread",
        name="the spread of the idle power",
        distribution=Distribution.STUDENT,
        freedom=9.0,
        is_guaranteed=False,
    )
    said = budget_summary(Budget(6.0, (READING, spread)))["guaranteed"]
    assert said.endswith(
        "the sum of the limits, without the spread of the idle power, which has no limit"
    )
