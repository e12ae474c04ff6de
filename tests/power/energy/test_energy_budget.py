"""The budget of a measured energy: its terms, and that their limits add up to the guaranteed limit."""

from __future__ import annotations

import math
from dataclasses import astuple, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.energy import Measurement, energy_of
from lpirc_power.energy.accuracy_checks import accuracy
from lpirc_power.energy.budget import Budget, Distribution, Term
from lpirc_power.energy.coverage import LEVEL
from lpirc_power.energy.energy_budget import budget_of
from lpirc_power.meter import IntegratorState, Limits, Reading, Setup
from lpirc_power.own_term import OwnTerm
from lpirc_power.report.budget_words import (
    HEADINGS,
    budget_rows,
    expanded_words,
    guaranteed_words,
    interval_words,
)
from tests.power.energy.test_coverage import DRAWS, drawn

MODELS = ("WT310E", "WT310", "WT310EH", "WT310HC", "WT332E", "WT333")
UTC_START = datetime(
    2026,
    1,
    1,
    tzinfo=UTC,
)
CODES = {
    "reading",
    "line-filter",
    "range",
    "crest-factor",
    "power-factor",
    "zero-drift-voltage",
    "zero-drift-current",
    "start-stop",
    "gaps",
    "resolution-wh",
    "resolution-time",
}
Rng = np.random.Generator


def by_code(budget: Budget) -> dict[str, Term]:
    return {one.code: one for one in budget.terms}


def a_reading(
    at_s: float,
    volts: float,
    power_w: float,
    factor: float,
) -> Reading:
    apparent_va = power_w / factor
    return Reading(
        monotonic_s=at_s,
        utc=UTC_START,
        voltage_v=volts,
        current_a=apparent_va / volts,
        apparent_va=apparent_va,
        power_w=power_w,
        power_factor=factor,
        energy_wh=0.0,
        integrator_s=0.0,
        state=IntegratorState.START,
        over_range=False,
        voltage_peak_over=False,
        current_peak_over=False,
    )


def random_measurement(rng: Rng) -> tuple[list[Reading], Measurement]:
    mode = str(rng.choice(["rms", "dc"]))
    volts = float(rng.choice([5.0, 12.0, 120.0, 230.0]))
    factor = (
        1.0
        if mode == "dc"
        else float(
            rng.uniform(
                0.3,
                1.0,
            )
        )
    )
    power_w = 10.0 ** float(
        rng.uniform(
            -1.0,
            2.5,
        )
    )
    ranges = (volts * 1.2, power_w / factor / volts * 2.0)
    length_s = float(
        rng.uniform(
            10.0,
            600.0,
        )
    )
    model = str(rng.choice(MODELS))
    setup = Setup(
        None if rng.random() < 0.1 else ranges[0],
        None if rng.random() < 0.1 else ranges[1],
        float(rng.choice([0.1, 1.0])),
        int(rng.choice([0, 3600])),
        mode=mode,
        crest_factor=int(rng.choice([3, 6])),
        line_filter=bool(rng.random() < 0.3),
        element=str(rng.choice(["1", "sum"])),
        ambient_change_c=float(
            rng.uniform(
                0.0,
                5.0,
            )
        ),
    )
    measured = Measurement(
        integrator_wh=power_w * length_s / 3600.0,
        integrator_s=float(int(length_s)) + float(rng.choice([0.0, 0.25])),
        start_s=0.0,
        end_s=length_s,
        setup=setup,
        model=model,
        limits=limits_of(model),
        start_stop_s=None
        if rng.random() < 0.2
        else float(
            rng.uniform(
                0.0,
                1.0,
            )
        ),
        late_s=float(rng.choice([0.0, 1.3])),
    )
    count = int(
        rng.integers(
            3,
            40,
        )
    )
    times = sorted(
        rng.uniform(
            0.0,
            length_s,
            count,
        )
    )
    powers = power_w * rng.uniform(
        0.5,
        1.5,
        count,
    )
    readings = [
        a_reading(
            float(at_s),
            volts,
            float(one),
            factor,
        )
        for at_s, one in zip(
            times,
            powers,
            strict=True,
        )
    ]
    return readings, measured


def test_the_limits_of_the_terms_add_up_to_the_limit_that_is_published() -> None:
    seen = set()
    for seed in range(150):
        readings, measured = random_measurement(np.random.default_rng(seed))
        energy = energy_of(
            readings,
            measured,
        )
        budget = budget_of(energy)
        seen |= {one.code for one in budget.terms}
        assert energy.limit is not None
        limit_wh = energy.limit * energy.energy_wh
        assert budget.guaranteed_wh is not None
        # The limit takes start and stop at the mean power, the budget at the largest.
        at_mean_wh = energy.start_stop_share * energy.energy_wh
        at_largest_wh = by_code(budget)["start-stop"].limit_wh or 0.0
        at_largest_wh += getattr(by_code(budget).get("age"), "limit_wh", 0.0)
        assert budget.guaranteed_wh >= limit_wh * (1.0 - 1e-12)
        assert budget.guaranteed_wh == pytest.approx(
            limit_wh - at_mean_wh + at_largest_wh
        )
        shares = [budget.share(one) or 0.0 for one in budget.terms]
        assert math.fsum(shares) == pytest.approx(1.0)
        assert budget.coverage_wh is not None
        assert budget.coverage_wh < budget.guaranteed_wh
    assert seen == CODES


def test_a_budget_is_what_a_monte_carlo_of_its_terms_gives() -> None:
    """JCGM 101:2008, with a million draws; terms of one group are one draw."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        readings, measured = random_measurement(rng)
        budget = budget_of(energy_of(readings, measured))
        errors_wh = np.zeros(DRAWS)
        grouped = [one for one in budget.terms if one.group]
        width_wh = math.fsum(one.limit_wh or 0.0 for one in grouped)
        errors_wh += rng.uniform(-width_wh, width_wh, DRAWS)
        for one in budget.terms:
            if not one.group:
                errors_wh += drawn(one.shape, rng)
        assert budget.combined_wh == pytest.approx(errors_wh.std(), rel=0.01)
        held_wh = np.quantile(np.abs(errors_wh), LEVEL)
        assert budget.coverage_wh == pytest.approx(held_wh, rel=0.01), seed


def the_manuals(
    measurement: Any, reading: Any, setup: dict[str, Any], power_w: float = 6.0
) -> Budget:
    readings = [
        reading(
            float(t),
            power_w=power_w,
            apparent_va=power_w,
        )
        for t in range(11)
    ]
    return budget_of(
        energy_of(
            readings,
            measurement(
                setup,
                power_w=power_w,
            ),
        )
    )


def test_each_term_is_what_the_manual_states(
    measurement: Any,
    reading: Any,
) -> None:
    budget = the_manuals(
        measurement,
        reading,
        {"integrator_timer_s": 600},
    )
    terms = by_code(budget)
    assert terms["reading"].half_width == pytest.approx(0.1)
    assert terms["reading"].unit == "%"
    assert terms["reading"].limit_wh == pytest.approx(0.001 * budget.energy_wh)
    assert terms["range"].half_width == pytest.approx(0.05)
    assert terms["range"].limit_wh == pytest.approx(0.0005 * 15 * 10 / 3600)
    assert terms["range"].source == "IM WT310E-02EN, pages 7-7 and 7-8"
    assert terms["power-factor"].limit_wh == 0.0
    # Nothing was measured of start and stop: 1 s and an update of 1 s.
    assert terms["start-stop"].half_width == 2.0
    assert terms["start-stop"].limit_wh == pytest.approx(6.0 * 2 / 3600)
    assert terms["start-stop"].distribution is Distribution.RECTANGULAR
    assert terms["gaps"].limit_wh == 0.0
    assert {one for one in terms if terms[one].is_shared} == {
        "reading",
        "range",
        "power-factor",
    }


def test_the_example_of_the_docs_is_what_the_budget_says(
    measurement: Any,
) -> None:
    setup = {
        "voltage_range_v": 300.0,
        "current_range_a": 0.5,
        "update_interval_s": 0.1,
        "integrator_timer_s": 0,
        "crest_factor": 6,
        "line_filter": True,
    }
    long = {"end_s": 600.0, "integrator_s": 600.0, "integrator_wh": 6.0}
    measured = measurement(
        setup,
        start_stop_s=0.3,
        **long,
    )
    readings = [
        a_reading(
            t / 10,
            230.0,
            36.0,
            0.6,
        )
        for t in range(
            1,
            6000,
        )
    ]
    budget = budget_of(
        energy_of(
            readings,
            measured,
        )
    )
    rows = [
        HEADINGS,
        ("---",) * len(HEADINGS),
        *map(
            astuple,
            budget_rows(budget),
        ),
    ]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    text = (Path(__file__).parents[3] / "docs" / "energy.md").read_text()
    _, rest = text.split("test_energy_budget.py -->\n")
    assert rest.partition("\n<!-- end of the budget")[0] == table
    said = "±0.029 Wh (k = 1.95), expanded ±0.030 Wh, guaranteed ±0.051 Wh"
    assert said in text
    assert interval_words(budget).startswith("+-0.029 Wh")
    assert expanded_words(budget).startswith("+-0.030 Wh")
    assert guaranteed_words(budget).startswith("+-0.051 Wh")


def test_crest_factor_6_states_one_error_twice_as_large_and_the_filter_another(
    measurement: Any,
    reading: Any,
) -> None:
    setup = {"crest_factor": 6, "line_filter": True}
    terms = by_code(
        the_manuals(
            measurement,
            reading,
            setup,
        )
    )
    assert terms["crest-factor"].limit_wh == pytest.approx(terms["range"].limit_wh)
    assert terms["crest-factor"].group == terms["range"].group == "range"
    assert terms["line-filter"].half_width == pytest.approx(0.3)
    assert terms["line-filter"].group == terms["reading"].group == ""
    alone = by_code(
        the_manuals(
            measurement,
            reading,
            {},
        )
    )
    assert terms["reading"].limit_wh == pytest.approx(alone["reading"].limit_wh)


def test_a_timer_that_ended_the_integral_leaves_no_start_and_stop(
    measurement: Any,
    reading: Any,
) -> None:
    term = by_code(
        the_manuals(
            measurement,
            reading,
            {},
        )
    )["start-stop"]
    assert term.limit_wh == 0.0
    assert term.source == "the meter's own timer has ended the integral"


def test_a_length_that_the_meter_tells_is_an_error_of_that_size(
    measurement: Any,
    reading: Any,
) -> None:
    readings = [
        reading(
            float(t),
            power_w=6.0,
            apparent_va=6.0,
        )
        for t in range(11)
    ]
    measured = measurement(
        {"integrator_timer_s": 600},
        integrator_s=10.4,
    )
    budget = budget_of(
        energy_of(
            readings,
            measured,
        )
    )
    term = by_code(budget)["start-stop"]
    assert term.distribution is Distribution.TWO_POINT
    assert term.half_width == pytest.approx(0.4)
    of_time = by_code(budget)["resolution-time"]
    assert of_time.half_width == 0.0
    assert of_time.source.startswith("this meter's TIME is not rounded; the host's")
    assert budget.coverage_wh is not None
    assert term.limit_wh is not None
    assert budget.coverage_wh > term.limit_wh


def test_a_load_that_varies_widens_the_term_of_its_ends(
    measurement: Any,
    reading: Any,
) -> None:
    powers_w = [2.0, 2.0, 2.0, 2.0, 22.0] * 2
    readings = [
        reading(
            float(t),
            power_w=one,
            apparent_va=one,
        )
        for t, one in enumerate(powers_w)
    ]
    measured = measurement(
        {"integrator_timer_s": 600},
        start_stop_s=0.3,
    )
    term = by_code(
        budget_of(
            energy_of(
                readings,
                measured,
            )
        )
    )["start-stop"]
    assert term.distribution is Distribution.MIXED
    assert term.limit_wh == pytest.approx(1.3 * 22.0 / 3600, rel=1e-4)
    # 22 W are one of 10 powers near the ends, and 2 of 10 of all.
    mean_square = 0.85 * 2.0**2 + 0.15 * 22.0**2
    assert term.standard_wh == pytest.approx(
        1.3 / 3600 / math.sqrt(3) * math.sqrt(mean_square), rel=1e-4
    )


def test_a_load_that_is_low_at_the_ends_has_less_of_its_work_there(
    measurement: Any,
    reading: Any,
) -> None:
    """2 W for 30 s, 22 W for 60 s, 2 W for 30 s: half of the powers that stand for the ends are 2 W for certain."""

    def found(load: Any) -> Term:
        readings = [
            reading(float(at_s), power_w=load(at_s), apparent_va=load(at_s))
            for at_s in range(1, 120)
        ]
        untimed = {"integrator_timer_s": 0}
        measured = measurement(untimed, end_s=120.0, start_stop_s=0.3)
        return by_code(budget_of(energy_of(readings, measured)))["start-stop"]

    low_at_ends = found(lambda at_s: 22.0 if 30 <= at_s < 90 else 2.0)
    turned = found(lambda at_s: 2.0 if 30 <= at_s < 90 else 22.0)
    assert low_at_ends.limit_wh == pytest.approx(turned.limit_wh)
    assert low_at_ends.standard_wh is not None
    assert turned.standard_wh is not None
    assert low_at_ends.standard_wh < 0.6 * turned.standard_wh


def test_start_and_stop_of_a_very_short_energy_are_at_the_power_that_was_read(
    measurement: Any,
    reading: Any,
) -> None:
    """In 0.5 s the integrator ran for 0.9 s: WH over the window alone is 1.8 times the power."""
    readings = [
        reading(at_s / 10.0, power_w=6.0, apparent_va=6.0) for at_s in range(1, 6)
    ]
    short = {"update_interval_s": 0.1, "integrator_timer_s": 0}
    measured = measurement(
        short, end_s=0.5, integrator_wh=6.0 * 0.9 / 3600, start_stop_s=0.3
    )
    term = by_code(budget_of(energy_of(readings, measured)))["start-stop"]
    assert term.limit_wh == pytest.approx(1.8 * 6.0 * 0.4 / 3600)
    assert term.standard_wh is not None
    assert term.standard_wh < 1.1 * 6.0 * 0.4 / 3600 / math.sqrt(3)


@pytest.mark.parametrize(
    ("different", "name"),
    [
        ({"model": "PM100"}, "the error of the reading. No driver states"),
        ({"power_w": 0.0}, "the error of the reading. The accuracy of 0 Wh in 10 s"),
    ],
)
def test_an_unknown_term_is_named_in_one_sentence(
    measurement: Any,
    reading: Any,
    different: dict[str, Any],
    name: str,
) -> None:
    readings = [
        reading(
            float(t),
            power_w=6.0,
            apparent_va=6.0,
        )
        for t in range(11)
    ]
    budget = budget_of(
        energy_of(
            readings,
            measurement(**different),
        )
    )
    assert budget.combined_wh is None
    assert budget.unknown.startswith(f"One term of the uncertainty is unknown: {name}")


def test_readings_without_a_power_factor_leave_its_influence_unknown(
    measurement: Any,
    reading: Any,
) -> None:
    readings = [
        reading(
            float(t),
            power_w=6.0,
            apparent_va=math.nan,
        )
        for t in range(11)
    ]
    budget = budget_of(
        energy_of(
            readings,
            measurement(),
        )
    )
    assert budget.unknown == (
        "One term of the uncertainty is unknown: the influence of the power factor. The accuracy is unknown, because "
        "the meter's limit of error depends on the power factor, and no reading shows one."
    )


def test_a_window_without_length_has_no_term_of_its_ends(
    measurement: Any,
    reading: Any,
) -> None:
    measured = replace(
        measurement({"integrator_timer_s": 600}), end_s=0.0, integrator_s=1.0
    )
    budget = budget_of(
        energy_of(
            [
                reading(
                    0.0,
                    power_w=6.0,
                    apparent_va=6.0,
                )
            ],
            measured,
        )
    )
    assert budget.coverage_wh is None
    assert "The window of this energy has no length." in budget.unknown


@pytest.mark.parametrize(
    ("energy_wh", "half_digit"),
    [(1.0, 5e-6), (9.99999, 5e-6), (12.5, 5e-5), (0.00123456, 5e-9), (0.0, 0.0)],
)
def test_the_resolution_of_wh_is_half_of_its_sixth_digit(
    measurement: Any,
    reading: Any,
    energy_wh: float,
    half_digit: float,
) -> None:
    readings = [
        reading(
            float(t),
            power_w=6.0,
            apparent_va=6.0,
        )
        for t in range(11)
    ]
    measured = measurement(integrator_wh=energy_wh)
    term = by_code(
        budget_of(
            energy_of(
                readings,
                measured,
            )
        )
    )["resolution-wh"]
    assert term.half_width == pytest.approx(half_digit)
    assert not term.is_guaranteed


def test_a_limit_that_depends_on_no_range_is_never_at_worst_and_no_range_is_advised() -> (
    None
):
    limits = Limits(0.02, 0.0, 0.0, 0.0, 2500.0, source="data sheet")
    readings = [a_reading(float(at_s), 230.0, 36.0, 1.0) for at_s in range(100)]
    for setup in (Setup(None, None, 1.0, 0), Setup(250.0, 10.0, 1.0, 0)):
        measured = Measurement(1.0, 100.25, 0.0, 100.25, setup, "Plug", limits)
        energy = energy_of(readings, measured)
        said = accuracy(energy).sentence
        assert "at worst" not in said
        assert "only a more exact meter has less" in said
        assert energy.known_by == "data sheet"
        ranged = replace(measured, limits=replace(limits, range_share=0.001))
        other = energy_of(readings, ranged)
        assert ("at worst" in accuracy(other).sentence) is (setup.range_w is None)
        assert "more exact meter" not in accuracy(other).sentence


def test_terms_of_a_drivers_own_are_in_the_budget_the_limit_and_not_shared() -> None:
    own = (
        OwnTerm(
            "counter-step",
            "the step of the counter",
            "page 3",
            energy_wh=0.001,
        ),
        OwnTerm(
            "clamp",
            "the clamp",
            "its data sheet",
            share=0.02,
        ),
        OwnTerm(
            "supply",
            "its own supply",
            "measured",
            power_w=0.1,
        ),
    )
    limits = Limits(
        0.01,
        0.0,
        0.0,
        0.0,
        2500.0,
        source="data sheet",
        own=own,
    )
    readings = [
        a_reading(
            float(at_s),
            230.0,
            36.0,
            1.0,
        )
        for at_s in range(100)
    ]
    setup = Setup(
        250.0,
        10.0,
        1.0,
        0,
    )
    measured = Measurement(
        1.0,
        100.25,
        0.0,
        100.25,
        setup,
        "Plug",
        limits,
    )
    energy = energy_of(
        readings,
        measured,
    )
    plain = energy_of(
        readings,
        replace(
            measured,
            limits=replace(
                limits,
                own=(),
            ),
        ),
    )
    budget = budget_of(energy)
    terms = by_code(budget)
    assert terms["counter-step"].limit_wh == pytest.approx(0.001)
    assert terms["clamp"].limit_wh == pytest.approx(0.02)
    assert terms["supply"].limit_wh == pytest.approx(0.1 * 100.25 / 3600.0)
    assert terms["clamp"].name == "the clamp"
    assert terms["clamp"].source == "its data sheet"
    assert not any(terms[one.code].is_shared for one in own)
    added = 0.001 + 0.02 + 0.1 * 100.25 / 3600.0
    assert energy.limit is not None
    assert plain.limit is not None
    assert energy.limit - plain.limit == pytest.approx(added)
    assert energy.own_limit - plain.own_limit == pytest.approx(added)  # type: ignore[operator]
    assert budget.guaranteed_wh == pytest.approx(energy.limit)


def gapped(
    measurement: Any,
    reading: Any,
    grown_w: float,
) -> Term:
    """The term of a gap from 3 s to 8 s, in which WH rose by `grown_w`; elsewhere 2 W and 10 W were read."""
    powers_w = [2.0, 10.0, 2.0, 10.0] + [grown_w] * 4 + [2.0, 10.0]
    energy_wh = 0.0
    readings = []
    for place, power_w in enumerate(powers_w):
        energy_wh += power_w / 3600.0
        at_s = float(place + 1)
        if not 4 < at_s < 9:
            readings.append(
                reading(
                    at_s,
                    power_w=power_w,
                    apparent_va=power_w,
                    energy_wh=energy_wh,
                )
            )
    measured = measurement(
        {"integrator_timer_s": 600},
        integrator_wh=energy_wh,
    )
    return by_code(budget_of(energy_of(readings, measured)))["gaps"]


def test_a_gap_has_the_two_bounds_that_the_powers_around_it_leave(
    measurement: Any,
    reading: Any,
) -> None:
    # 4 s at 4 W, which may have been 2 W to 10 W: 8 J too much, or 24 J too little.
    term = gapped(measurement, reading, 4.0)
    assert term.distribution is Distribution.MIXED
    assert term.limit_wh == pytest.approx(24.0 / 3600.0)
    assert term.profile == (0.3333,) * 5 + (1.0,) * 15
    rng = np.random.default_rng(5)
    errors_wh = rng.uniform(-24.0, 8.0, 400_000) / 3600.0
    budget = Budget(0.01, (term,))
    assert budget.coverage_wh is not None
    held = np.mean(np.abs(errors_wh) <= budget.coverage_wh)
    assert held == pytest.approx(0.9545, abs=0.002)
    assert term.standard_wh == pytest.approx(math.sqrt(np.mean(errors_wh**2)), rel=0.01)


def test_a_gap_whose_energy_cannot_be_right_has_an_error_of_that_size(
    measurement: Any,
    reading: Any,
) -> None:
    # 4 s at 12 W, although no more than 10 W was read: at least 8 J too much, at most 40 J.
    term = gapped(measurement, reading, 12.0)
    assert term.distribution is Distribution.TWO_POINT
    assert term.limit_wh == pytest.approx(40.0 / 3600.0)
