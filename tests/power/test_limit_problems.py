"""Limits of error that cannot be are named by figure and value; those of the built-in meters can be used."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from lpirc_power.energy import budget, energy_budget, idle_energy, limit_parts, spread
from lpirc_power.limit_problems import (
    CODES_OF_THE_BUDGET,
    limit_problems,
    limits_that_differ,
)
from lpirc_power.meter import Drift, Limits
from lpirc_power.own_term import OwnTerm
from lpirc_power.wt300.driver import Wt300Family

PLAIN = Limits(0.01, 0.0, 0.0, 0.0, 2300.0, source="data sheet", age_s=0.1)
STEP = OwnTerm("step", "the step", "page 1", energy_wh=0.001)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"age_s": math.nan}, "age_s = nan, where a number from 0 to 3600 must be"),
        ({"age_s": -1.0}, "age_s = -1.0, where a number from 0 to 3600 must be"),
        ({"age_s": 1e9}, "age_s = 1000000000.0, where"),
        ({"reading_share": math.nan}, "reading_share = nan, where a number from 0 to"),
        ({"reading_share": math.inf}, "reading_share = inf, where"),
        ({"reading_share": -0.01}, "reading_share = -0.01, where"),
        ({"reading_share": 5.0}, "reading_share = 5.0, where a number from 0 to 1"),
        ({"reading_share": "0.01"}, "reading_share = '0.01', where"),
        ({"reading_share": None}, "reading_share = None, where"),
        ({"reading_share": 10**400}, "reading_share = 1000"),
        ({"reading_share": 10**5000}, "reading_share = too large a number, where"),
        ({"apparent_share": -1}, "apparent_share = -1, where"),
        ({"smallest_range_w": 1e300}, "smallest_range_w = 1e+300, where"),
        (
            {"range_share": 0.01, "smallest_range_w": 0.0},
            "smallest_range_w = 0, beside a share of the range",
        ),
        ({"elements": 0}, "elements = 0, where a whole number from 1 must be"),
        ({"source": "two\nlines"}, "source = 'two\\nlines', where a text of one line"),
        ({"source": None}, "source = None, where"),
        ({"drift": Drift(-1e-4, 0.0)}, "drift.voltage_range_share_per_c = -0.0001"),
        ({"drift": 0.1}, "drift = 0.1, where a Drift or None must be"),
        ({"own": [STEP]}, "where a tuple of OwnTerm must be"),
    ],
)
def test_a_figure_that_cannot_be_is_named_with_its_value(
    changed: dict[str, Any],
    said: str,
) -> None:
    (problem,) = limit_problems(replace(PLAIN, **changed))
    assert said in problem


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"energy_wh": math.nan}, "the own term 'step' has energy_wh = nan, where"),
        ({"energy_wh": -0.01}, "energy_wh = -0.01, where"),
        ({"energy_wh": 1e300}, "energy_wh = 1e+300, where a number from 0 to 1e+09"),
        ({"energy_wh": "1"}, "energy_wh = '1', where"),
        (
            {"energy_wh": 0.0},
            "share = 0, power_w = 0, energy_wh = 0, of which one must be above 0",
        ),
        (
            {"share": 0.01, "power_w": 1.0},
            "share = 0.01, power_w = 1, energy_wh = 0.001, of which one must",
        ),
        ({"share": -0.5}, "share = -0.5, where"),
        ({"name": "\x1b[2J"}, "has name = '\\x1b[2J', where a text of one line"),
        ({"code": "reading"}, "has the code 'reading', which is a term of every"),
    ],
)
def test_an_own_term_has_one_size_and_a_code_of_its_own(
    changed: dict[str, Any],
    said: str,
) -> None:
    (problem,) = limit_problems(replace(PLAIN, own=(replace(STEP, **changed),)))
    assert said in problem


def test_two_own_terms_of_one_code_are_named() -> None:
    assert limit_problems(replace(PLAIN, own=(STEP, STEP))) == (
        "2 own terms have the code 'step'",
    )


def test_what_can_be_used_has_no_problem() -> None:
    assert not limit_problems(replace(PLAIN, own=(STEP,)))
    for model in ("WT310", "WT310E", "WT310EH", "WT310HC", "WT332", "WT333E"):
        stated = Wt300Family.limits(model)
        assert stated is not None
        assert not limit_problems(stated)


def test_every_code_of_the_budget_is_reserved() -> None:
    rooms = (budget, energy_budget, idle_energy, limit_parts, spread)
    codes = {
        value
        for room in rooms
        for name, value in vars(room).items()
        if name.isupper() and isinstance(value, str) and value.islower()
        if " " not in value
    }
    named = set(energy_budget.NAMES)
    assert {"reading", "age", "ended"} <= codes
    assert codes | named <= CODES_OF_THE_BUDGET


def test_of_two_limits_only_the_figures_that_differ_are_named() -> None:
    other = replace(PLAIN, reading_share=0.03, own=(STEP,))
    assert limits_that_differ(PLAIN, other) == (
        "reading_share = 0.01, not 0.03; energy_wh of step = none, not 0.001"
    )
    every = Limits(0.1, 0.2, 0.3, 0.4, 10.0)
    assert limits_that_differ(PLAIN, every).endswith("; and 4 more")
