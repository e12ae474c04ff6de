"""The energy above idle: what cancels, what does not, and whether the interval holds the truth."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.energy import Measurement, budget_of, energy_of
from lpirc_power.energy.budget import Budget
from lpirc_power.energy.idle_energy import IdlePower, net_budget
from lpirc_power.energy.power_error_limit import Load
from lpirc_power.meter import Setup
from lpirc_power.own_term import OwnTerm

LASTS_S = 600.0
POWER_W = 36.0
IDLE_W = 12.0
SETUP = Setup(
    150.0,
    0.5,
    0.1,
    600,
)
MEASURED = Measurement(
    POWER_W * LASTS_S / 3600.0,
    LASTS_S,
    0.0,
    LASTS_S,
    SETUP,
    "WT310",
    limits_of("WT310"),
)
IDLE = IdlePower(
    Load(
        120.0,
        IDLE_W / 120.0,
        IDLE_W,
        IDLE_W,
    ),
    0.01,
    9.0,
)


@pytest.fixture
def whole(reading: object) -> Budget:
    readings = [
        reading(
            float(second),
            power_w=POWER_W,
            apparent_va=POWER_W,
            current_a=0.3,
        )  # type: ignore[operator]
        for second in range(
            1,
            600,
        )
    ]
    return budget_of(
        energy_of(
            readings,
            MEASURED,
        )
    )


def width_wh(budget: Budget, code: str) -> float:
    (term,) = [one for one in budget.terms if one.code == code]
    return (term.half_width or math.nan) * term.sensitivity_wh


def test_the_error_of_the_reading_is_that_part_of_the_difference(whole: Budget) -> None:
    net = net_budget(
        whole,
        IDLE,
        MEASURED,
    )
    assert net.energy_wh == pytest.approx((POWER_W - IDLE_W) * LASTS_S / 3600.0)
    assert width_wh(
        net,
        "reading",
    ) == pytest.approx(
        width_wh(
            whole,
            "reading",
        )
        * (POWER_W - IDLE_W)
        / POWER_W
    )
    assert "idle-reading" not in [one.code for one in net.terms]


def test_the_errors_of_the_range_are_counted_for_both_loads(whole: Budget) -> None:
    net = net_budget(
        whole,
        IDLE,
        MEASURED,
    )
    assert width_wh(
        net,
        "range",
    ) == width_wh(
        whole,
        "range",
    )
    assert width_wh(
        net,
        "idle-range",
    ) == pytest.approx(
        width_wh(
            whole,
            "range",
        )
    )


def test_with_automatic_ranges_nothing_cancels(whole: Budget) -> None:
    automatic = replace(
        MEASURED,
        setup=replace(
            SETUP,
            current_range_a=None,
        ),
    )
    net = net_budget(
        whole,
        IDLE,
        automatic,
    )
    assert width_wh(
        net,
        "reading",
    ) == width_wh(
        whole,
        "reading",
    )
    assert (
        width_wh(
            net,
            "idle-reading",
        )
        > 0.0
    )


def test_the_spread_of_the_idle_power_counts_for_the_whole_time(whole: Budget) -> None:
    net = net_budget(
        whole,
        IDLE,
        MEASURED,
    )
    assert width_wh(
        net,
        "idle-spread",
    ) == pytest.approx(0.01 * LASTS_S / 3600.0)


def test_what_a_driver_states_of_its_own_counts_at_idle_as_well(whole: Budget) -> None:
    """An own term is another error in each measurement: nothing of it cancels."""
    own = (
        OwnTerm(
            "own-share",
            "of the reading",
            "test",
            share=0.02,
        ),
        OwnTerm(
            "own-offset",
            "an offset",
            "test",
            power_w=0.5,
        ),
        OwnTerm(
            "own-step",
            "a step",
            "test",
            energy_wh=0.001,
        ),
    )
    limits = replace(
        limits_of("WT310"),
        own=own,
    )
    net = net_budget(
        whole,
        replace(
            IDLE,
            lasted_s=30.0,
        ),
        replace(
            MEASURED,
            limits=limits,
        ),
    )
    hours = LASTS_S / 3600.0
    assert width_wh(
        net,
        "idle-own-share",
    ) == pytest.approx(0.02 * IDLE_W * hours)
    assert width_wh(
        net,
        "idle-own-offset",
    ) == pytest.approx(0.5 * hours)
    # A step of the counter in 30 s of idle power is twenty of them in 600 s.
    assert width_wh(
        net,
        "idle-own-step",
    ) == pytest.approx(0.02)


def test_too_short_an_idle_measurement_leaves_the_uncertainty_unknown(
    whole: Budget,
) -> None:
    net = net_budget(
        whole,
        replace(
            IDLE,
            standard_w=math.nan,
            freedom=0.0,
        ),
        MEASURED,
    )
    assert net.coverage_wh is None
    assert "measure the idle power for longer" in net.unknown


def test_a_meter_of_unknown_limits_leaves_it_unknown(whole: Budget) -> None:
    net = net_budget(
        whole,
        IDLE,
        replace(
            MEASURED,
            limits=None,
        ),
    )
    assert net.coverage_wh is None


def test_the_stated_interval_holds_the_truth_in_95_of_100_cases(whole: Budget) -> None:
    """Draw every error as the budget says, with one gain for both loads, and count."""
    net = net_budget(
        whole,
        IDLE,
        MEASURED,
    )
    dice = np.random.default_rng(1)
    count = 20_000
    hours = LASTS_S / 3600.0
    gain = (
        dice.uniform(
            -1.0,
            1.0,
            count,
        )
        * width_wh(
            whole,
            "reading",
        )
        / whole.energy_wh
    )
    offsets_wh = [
        dice.uniform(
            -1.0,
            1.0,
            count,
        )
        * width_wh(
            whole,
            "range",
        )
        for _ in range(2)
    ]
    # Nine degrees of freedom: the spread is known as badly as ten parts tell.
    idle_wh = (
        0.01
        * hours
        * dice.standard_t(
            9.0,
            count,
        )
    )
    error_wh = gain * net.energy_wh + offsets_wh[0] - offsets_wh[1] + idle_wh
    held = np.mean(np.abs(error_wh) <= (net.coverage_wh or 0.0))
    assert 0.94 <= held <= 0.97


def test_what_the_line_filter_adds_counts_for_both_loads(reading: Any) -> None:
    """It takes from the harmonics of a current, and an idle board has others."""
    filtered = replace(MEASURED, setup=replace(SETUP, line_filter=True))
    shown = {"power_w": POWER_W, "apparent_va": POWER_W, "current_a": 0.3}
    readings = [reading(float(at_s), **shown) for at_s in range(1, 600)]
    whole = budget_of(energy_of(readings, filtered))
    net = net_budget(whole, IDLE, filtered)
    assert width_wh(net, "line-filter") == width_wh(whole, "line-filter")
    part = IDLE_W / POWER_W
    assert width_wh(net, "idle-line-filter") == pytest.approx(
        part * width_wh(whole, "line-filter")
    )
    assert "idle-reading" not in [one.code for one in net.terms]


def test_of_a_meter_without_ranges_the_error_of_the_reading_cancels(
    whole: Budget,
) -> None:
    rangeless = replace(SETUP, current_range_a=None)
    measured = replace(MEASURED, setup=rangeless)
    codes = [one.code for one in net_budget(whole, IDLE, measured).terms]
    assert "idle-reading" in codes
    net = net_budget(whole, IDLE, measured, is_one_range=True)
    assert width_wh(net, "reading") < width_wh(whole, "reading")
