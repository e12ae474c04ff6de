from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from lpirc_power.energy.budget import Budget, Distribution, Term, with_terms
from lpirc_power.energy.coverage import student_factor
from lpirc_power.energy.spread import budget_of_mean, spread_of
from lpirc_power.report.budget_words import expanded_words

READING = Term(
    "reading", "the error of the reading", 0.1, "%", Distribution.RECTANGULAR, 0.06,
    "IM WT310E-02EN, page 7-7", is_shared=True,
)  # fmt: skip
RANGE = replace(
    READING,
    code="range",
    sensitivity_wh=0.03,
    group="range",
)
CREST = replace(
    RANGE,
    code="crest-factor",
)
BUDGET = Budget(
    6.0,
    (READING, RANGE, CREST),
)


def of_attempts(spread_wh: float, attempts: int) -> Budget:
    """Return the budget of a mean whose meter has a standard uncertainty of 2.14 mWh."""
    limit_wh = 2.14e-3 * math.sqrt(3.0)
    meter = replace(READING, half_width=limit_wh, unit="Wh", sensitivity_wh=1.0)
    spread = replace(
        meter,
        code="spread",
        half_width=spread_wh,
        distribution=Distribution.STUDENT,
        freedom=attempts - 1.0,
    )
    return Budget(0.1, (meter, spread))


def test_an_expanded_uncertainty_below_what_its_spread_needs_alone_says_so() -> None:
    few = of_attempts(1.19e-3, 2)
    assert few.expanded_wh is not None
    assert few.coverage_wh is not None
    assert few.expanded_wh < 0.006 < student_factor(1.0) * 1.19e-3 < few.coverage_wh
    assert few.is_expanded_too_small
    assert expanded_words(few).endswith("needs alone: state the uncertainty instead")
    for sure in (of_attempts(1.19e-3, 20), of_attempts(0.0, 2), BUDGET):
        assert not sure.is_expanded_too_small
        assert "instead" not in expanded_words(sure)


def test_a_spread_alone_is_not_said_to_be_too_small() -> None:
    alone = Budget(0.1, of_attempts(1.19e-3, 2).terms[1:])
    assert not alone.is_expanded_too_small


def test_independent_terms_add_as_squares_and_parts_of_one_error_as_they_are() -> None:
    # The reading 6 mWh, the range 3 + 3 mWh.
    assert BUDGET.combined_wh == pytest.approx(
        math.hypot(
            0.006,
            0.006,
        )
        / math.sqrt(3)
    )
    assert BUDGET.expanded_wh == pytest.approx(
        2
        * math.hypot(
            0.006,
            0.006,
        )
        / 3**0.5
    )
    assert BUDGET.guaranteed_wh == pytest.approx(0.012)
    assert BUDGET.coverage_factor == pytest.approx(
        1.927,
        abs=0.001,
    )
    assert BUDGET.coverage_wh is not None
    assert BUDGET.interval_wh == (6.0 - BUDGET.coverage_wh, 6.0 + BUDGET.coverage_wh)


def test_the_shares_of_all_terms_are_1_together() -> None:
    shares = [BUDGET.share(one) for one in BUDGET.terms]
    assert shares == [pytest.approx(0.5), pytest.approx(0.25), pytest.approx(0.25)]


def test_an_unknown_term_makes_every_figure_unknown_and_is_named() -> None:
    lacking = replace(
        READING,
        half_width=None,
        name="the power factor's influence",
        source="No reading shows a power factor.",
    )
    budget = Budget(
        6.0,
        (READING, lacking),
    )
    assert budget.combined_wh is None
    assert budget.expanded_wh is None
    assert budget.coverage_wh is None
    assert budget.coverage_factor is None
    assert budget.guaranteed_wh is None
    assert budget.interval_wh is None
    assert budget.share(READING) is None
    assert budget.unknown == (
        "One term of the uncertainty is unknown: the power factor's influence. No reading shows a power factor."
    )


@pytest.mark.parametrize(
    "lacking",
    [math.nan, math.inf],
)
def test_a_size_that_is_no_number_is_unknown(lacking: float) -> None:
    for term in (
        replace(
            READING,
            half_width=lacking,
        ),
        replace(
            READING,
            sensitivity_wh=lacking,
        ),
    ):
        budget = Budget(
            6.0,
            (term,),
        )
        assert budget.combined_wh is None
        assert budget.unknown
        json.dumps(
            budget.document(),
            allow_nan=False,
        )


@pytest.mark.parametrize(
    "broken",
    [
        {"half_width": 1e200},
        {"half_width": 1e308, "sensitivity_wh": 1e308},
        {"profile": (1.0, math.inf)},
        {"profile": (1.0, math.nan)},
    ],
)
def test_a_size_whose_square_is_beyond_all_numbers_is_unknown_and_says_so(
    broken: dict[str, Any],
) -> None:
    """A broken driver may give any energy; its budget must still be one of JSON."""
    term = replace(READING, distribution=Distribution.MIXED, **broken)
    budget = Budget(6.0, (RANGE, term))
    assert budget.combined_wh is None
    assert budget.unknown == (
        "One term of the uncertainty is unknown: the error of the reading. "
        "Its size is no number, or too large to compute with."
    )
    document = json.loads(json.dumps(budget.document(), allow_nan=False))
    assert Budget.from_document(document).unknown == budget.unknown


def test_an_energy_without_any_term_has_no_uncertainty() -> None:
    assert (
        Budget(
            6.0,
            (),
        ).combined_wh
        is None
    )
    assert Budget(
        6.0,
        (),
    ).unknown


def test_a_document_gives_the_budget_back() -> None:
    spread = spread_of([6.0, 6.1, 5.9])
    assert spread is not None
    budget = with_terms(
        BUDGET,
        spread,
    )
    document = json.loads(
        json.dumps(
            budget.document(),
            allow_nan=False,
        )
    )
    assert Budget.from_document(document) == budget
    assert document["combined_wh"] == budget.combined_wh
    assert document["level"] == pytest.approx(
        0.9545,
        abs=1e-4,
    )
    shares = [one["share"] for one in document["terms"]]
    assert math.fsum(shares) == pytest.approx(1.0)


def test_the_spread_between_attempts_is_the_deviation_of_their_mean() -> None:
    spread = spread_of([10.0, 12.0, 14.0, 12.0])
    assert spread is not None
    assert spread.standard_wh == pytest.approx(math.sqrt(8 / 3) / 2)
    assert spread.freedom == 3.0
    assert spread.source == "the standard deviation of the mean of 4 attempts"
    assert Budget(
        12.0,
        (spread,),
    ).coverage_factor == pytest.approx(
        3.307,
        abs=0.001,
    )
    assert (
        Budget(
            12.0,
            (spread,),
        ).guaranteed_wh
        == 0.0
    )


@pytest.mark.parametrize(
    "energies_wh",
    [[], [3.0]],
)
def test_fewer_than_two_attempts_show_no_spread(energies_wh: list[float]) -> None:
    assert spread_of(energies_wh) is None


def test_the_mean_of_attempts_keeps_what_the_meter_may_be_off_and_adds_their_spread() -> (
    None
):
    second = replace(
        BUDGET,
        energy_wh=6.6,
        terms=(replace(READING, sensitivity_wh=0.066), RANGE),
    )
    mean = budget_of_mean([BUDGET, second])
    terms = {one.code: one for one in mean.terms}
    assert mean.energy_wh == pytest.approx(6.3)
    assert terms["reading"].limit_wh == pytest.approx(0.0063)
    assert terms["range"].limit_wh == pytest.approx(0.003)
    # Only the first attempt was at crest factor 6.
    assert terms["crest-factor"].limit_wh == pytest.approx(0.0015)
    assert terms["spread"].standard_wh == pytest.approx(0.3)
    assert mean.guaranteed_wh == pytest.approx(0.0063 + 0.003 + 0.0015)


def test_a_term_unknown_in_one_attempt_is_unknown_in_the_mean() -> None:
    lacking = replace(
        READING,
        half_width=None,
        source="No reading shows a power.",
    )
    mean = budget_of_mean([BUDGET, replace(BUDGET, terms=(lacking,))])
    assert mean.combined_wh is None
    assert mean.unknown.endswith("No reading shows a power.")


def test_one_attempt_is_its_own_mean_and_no_attempt_has_none() -> None:
    assert budget_of_mean([BUDGET]).coverage_wh == pytest.approx(BUDGET.coverage_wh)
    with pytest.raises(ValueError, match="no attempts"):
        budget_of_mean([])


def test_a_spread_of_few_attempts_expands_by_students_t_of_its_freedom() -> None:
    spread = replace(
        BUDGET.terms[0],
        distribution=Distribution.STUDENT,
        freedom=2.0,
    )
    alone = Budget(
        6.0,
        (spread,),
    )
    assert alone.effective_freedom == pytest.approx(2.0)
    assert alone.expanded_factor == pytest.approx(
        4.527,
        rel=1e-3,
    )
    assert BUDGET.expanded_factor == 2.0


def test_the_guaranteed_limit_of_a_mean_is_the_mean_of_the_limits_whatever_the_profiles() -> (
    None
):
    """One attempt has bursts, the other a steady load that is a little longer."""
    bursts = replace(
        BUDGET.terms[0],
        code="start-stop",
        distribution=Distribution.MIXED,
        profile=(0.5, 0.5, 0.5, 3.0),
    )
    steady = replace(
        bursts,
        distribution=Distribution.RECTANGULAR,
        sensitivity_wh=1.01 * bursts.sensitivity_wh,
        profile=(1.0,),
    )
    late = replace(steady, distribution=Distribution.TWO_POINT)
    for other, kind in ((steady, bursts.distribution), (late, late.distribution)):
        both = [Budget(6.0, (one,)) for one in (bursts, other)]
        mean = budget_of_mean(both)
        limits_wh = [one.guaranteed_wh or 0.0 for one in both]
        assert mean.guaranteed_wh == pytest.approx(sum(limits_wh) / 2.0)
        assert mean.terms[0].distribution is kind


def test_the_mean_of_equal_budgets_is_that_budget() -> None:
    bursts = replace(
        BUDGET.terms[0], distribution=Distribution.MIXED, profile=(0.5, 0.7, 3.0)
    )
    one = Budget(6.0, (bursts,))
    mean = budget_of_mean([one, one])
    assert mean.terms[0].profile == pytest.approx(bursts.profile)
    assert mean.terms[0].standard_wh == pytest.approx(bursts.standard_wh)


@pytest.mark.parametrize("energy_wh", [1e-310, 1e-200, 1e-160, 1e-90])
def test_an_energy_near_the_least_of_all_numbers_has_the_figures_of_any_other(
    energy_wh: float,
) -> None:
    """Their squares are 0: the combined uncertainty was 0 beside an interval that was not."""
    per_unit = {"sensitivity_wh": energy_wh / 100.0}
    terms = (replace(READING, **per_unit), replace(RANGE, **per_unit))
    tiny = Budget(energy_wh, terms)
    usual = Budget(1.0, tuple(replace(one, sensitivity_wh=0.01) for one in terms))
    for name in ("combined_wh", "expanded_wh", "coverage_wh", "guaranteed_wh"):
        expected = energy_wh * getattr(usual, name)
        assert getattr(tiny, name) == pytest.approx(expected, rel=1e-3, abs=0.0)
    assert tiny.share(terms[0]) == pytest.approx(0.5)
    spread = spread_of([energy_wh, 1.1 * energy_wh])
    assert spread is not None
    assert with_terms(tiny, spread).effective_freedom == pytest.approx(1.0, rel=0.01)


def test_the_mean_of_attempts_whose_load_is_0_has_terms_of_0() -> None:
    late = replace(READING, distribution=Distribution.TWO_POINT, sensitivity_wh=0.0)
    mean = budget_of_mean([Budget(0.0, (late,)), Budget(0.0, (late,))])
    assert mean.terms[0].limit_wh == 0.0
