"""What no reading has seen: gaps and updates without data, bounded by the powers that were read."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_power.energy import energy_of
from lpirc_power.energy.unseen import Stretch, unseen_of

JOULES_PER_WH = 3600.0


def run_of(
    reading: Any,
    powers_w: dict[float, float],
    lost: tuple[float, float] = (0.0, 0.0),
    share: float = 1.0,
) -> list[Any]:
    """Readings once a second of a load, none while the link is `lost`; WH rises by a `share` of it meanwhile."""
    joules = 0.0
    found = []
    for at_s, power_w in powers_w.items():
        is_lost = lost[0] < at_s <= lost[1]
        drawn_w = powers_w[at_s] if math.isfinite(power_w) else 0.0
        joules += drawn_w * (share if is_lost else 1.0)
        if not is_lost:
            found.append(
                reading(at_s, power_w=power_w, energy_wh=joules / JOULES_PER_WH)
            )
    return found


STEADY = {float(at_s): 6.0 for at_s in range(1, 11)}
BURSTS = {float(at_s): 20.0 if at_s % 5 == 1 else 2.5 for at_s in range(1, 11)}


def test_a_gap_in_a_steady_load_costs_nothing(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    readings = run_of(reading, STEADY, lost=(3.0, 8.0))
    found = energy_of(readings, measurement())
    assert [one.unseen_s for one in found.unseen.stretches] == [5.0]
    assert found.unseen.off_wh == pytest.approx(0.0, abs=1e-9)
    assert found.limit == pytest.approx(found.meter_limit)
    check = checks(readings, measurement())["unseen-energy"]
    assert check.ok
    assert "5.0 s of the window were not seen (once, at 3.0 s)" in check.sentence


def test_what_wh_lacks_in_a_gap_is_what_the_energy_may_be_off_by(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    readings = run_of(reading, STEADY, lost=(3.0, 8.0), share=0.5)
    measured = measurement(integrator_wh=(60.0 - 15.0) / JOULES_PER_WH)
    check = checks(readings, measured)["unseen-energy"]
    assert check.ok is False
    assert check.severity == "error"
    assert check.figures["off_wh"] == pytest.approx(15.0 / JOULES_PER_WH)
    assert "up to 0.00417 Wh (33.3%)" in check.sentence


def test_a_gap_in_a_load_of_bursts_may_hide_the_largest_power(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    readings = run_of(reading, BURSTS, lost=(2.0, 5.0))
    check = checks(readings, measurement())["unseen-energy"]
    assert not check.ok
    # Three updates of 2.5 W that may have been of 20 W.
    assert check.figures["off_wh"] == pytest.approx(3 * 17.5 / JOULES_PER_WH)


def test_updates_without_data_are_lost_energy(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    readings = run_of(reading, STEADY | {5.0: math.nan, 6.0: math.nan})
    check = checks(readings, measurement(integrator_wh=48.0 / JOULES_PER_WH))[
        "unseen-energy"
    ]
    assert not check.ok
    assert check.figures["off_wh"] == pytest.approx(12.0 / JOULES_PER_WH)
    assert "2 updates carried no data" in check.sentence


def test_an_update_without_data_that_was_integrated_costs_nothing(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    readings = run_of(reading, STEADY)
    blind = [
        reading(5.0, power_w=math.nan, energy_wh=readings[4].energy_wh)
        if one is readings[4]
        else one
        for one in readings
    ]
    assert energy_of(blind, measurement()).unseen.off_wh == pytest.approx(0.0, abs=1e-9)


def test_no_data_just_after_the_start_is_as_it_should_be(
    reading: Any,
    measurement: Any,
) -> None:
    readings = [reading(0.5, power_w=math.nan, energy_wh=0.0), *run_of(reading, STEADY)]
    assert unseen_of(readings, measurement()).stretches == ()


def test_a_gap_at_the_end_is_bounded_by_the_energy_of_record(
    reading: Any,
    measurement: Any,
) -> None:
    readings = run_of(reading, {at_s: 6.0 for at_s in STEADY if at_s <= 6.0})
    (last,) = unseen_of(readings, measurement()).stretches
    assert last.begin_s == 6.0
    assert last.unseen_s == 4.0
    assert last.grown_wh == pytest.approx(24.0 / JOULES_PER_WH)


def test_up_to_the_meters_limit_it_widens_the_stated_limit(
    reading: Any,
    measurement: Any,
) -> None:
    readings = run_of(reading, STEADY | {4.0: 6.02}, lost=(5.0, 8.0))
    found = energy_of(readings, measurement())
    assert found.meter_limit is not None
    assert found.limit == pytest.approx(found.meter_limit + 3 * 0.02 / 60.0, rel=1e-3)


@given(st.floats(0, 50), st.floats(0, 50), st.floats(0.1, 600), st.floats(0, 1))
def test_any_power_between_those_read_stays_within_the_bound(
    one_w: float,
    other_w: float,
    unseen_s: float,
    part: float,
) -> None:
    least_w, most_w = sorted((one_w, other_w))
    true_wh = (least_w + part * (most_w - least_w)) * unseen_s / JOULES_PER_WH
    for grown_wh in (0.0, true_wh, 2.0 * true_wh):
        off_wh = Stretch(0.0, unseen_s, grown_wh, 0).off_wh(least_w, most_w)
        assert abs(grown_wh - true_wh) <= off_wh + 1e-9
