from __future__ import annotations

import math

import pytest

from power.addresses import limits_of
from power.energy.accuracy import limit_w, power_range_w, relative_uncertainty
from power.meter import Setup


def test_the_meters_limit_is_the_one_published_for_a_real_run() -> None:
    # SPEC's power daemon, 23.49 W at a power factor of .484 in the ranges 300 V and 0.5 A: 0.626 %.
    assert relative_uncertainty(23.49, 23.49 / 0.484, 300 * 0.5, limits_of("WT310E")) == pytest.approx(
        0.00626, abs=5e-6
    )


def test_other_meters_have_another_share_of_the_range() -> None:
    assert relative_uncertainty(10.0, 10.0, 60.0, limits_of("WT310")) == pytest.approx(0.008)
    assert relative_uncertainty(10.0, 10.0, 60.0, limits_of("WT310HC")) == pytest.approx(0.008)
    assert relative_uncertainty(10.0, 10.0, 60.0, limits_of("WT310EH")) == pytest.approx(0.005)


@pytest.mark.parametrize("voltage_share", [0.3, 0.6, 1.3])
@pytest.mark.parametrize("current_share", [0.3, 0.5, 1.3])
def test_without_ranges_the_limit_covers_whatever_automatic_ranging_chose(
    voltage_share: float, current_share: float
) -> None:
    power_w, apparent_va = 12.0, 20.0
    known = relative_uncertainty(
        power_w, apparent_va, apparent_va / (voltage_share * current_share), limits_of("WT310E")
    )
    unknown = relative_uncertainty(power_w, apparent_va, None, limits_of("WT310E"))
    assert known is not None
    assert unknown is not None
    assert unknown >= known - 1e-15


def test_an_apparent_power_below_the_active_one_is_noise() -> None:
    assert relative_uncertainty(10.0, 9.99, 60.0, limits_of("WT310E")) == relative_uncertainty(
        10.0, 10.0, 60.0, limits_of("WT310E")
    )


@pytest.mark.parametrize(
    ("power_w", "apparent_va"), [(0.0, 1.0), (-1.0, 1.0), (math.nan, 1.0), (1.0, math.inf)]
)
def test_without_power_there_is_no_limit(power_w: float, apparent_va: float) -> None:
    assert relative_uncertainty(power_w, apparent_va, 60.0, limits_of("WT310E")) is None


def test_direct_current_is_known_less_well() -> None:
    assert relative_uncertainty(10.0, 10.0, 60.0, limits_of("WT310E"), "dc") == pytest.approx(
        0.001 + 0.012 + 0.001
    )


@pytest.mark.parametrize("model", ["WT310", "WT310E", "WT310EH", "WT332E", "WT333E", "wt310e"])
def test_limits_are_known_of_the_family(model: str) -> None:
    assert limits_of(model) is not None


@pytest.mark.parametrize("model", ["", "rapl", "hwmon", "replay", "WT500"])
def test_nothing_is_known_of_others(model: str) -> None:
    assert limits_of(model) is None
    assert limit_w(10.0, 10.0, 60.0, limits_of(model)) is None
    assert relative_uncertainty(10.0, 10.0, None, limits_of(model)) is None


@pytest.mark.parametrize(
    ("model", "element", "range_w"),
    [("WT333E", "1", 75.0), ("WT333E", "sum", 225.0), ("WT332E", "sum", 150.0), ("WT310E", "sum", 75.0)],
)
def test_each_element_of_a_sum_has_a_range(model: str, element: str, range_w: float) -> None:
    assert power_range_w(Setup(150.0, 0.5, 0.1, 0, element=element), limits_of(model)) == range_w


def test_an_automatic_range_is_as_large_as_it_may_be_for_what_it_measures() -> None:
    assert power_range_w(Setup(None, None, 0.1, 0), limits_of("WT310E"), 120.0, 0.05) is None
    assert power_range_w(Setup(None, 0.5, 0.1, 0), limits_of("WT310E")) is None
    assert power_range_w(Setup(None, 0.5, 0.1, 0), limits_of("WT310E"), voltage_v=120.0) == pytest.approx(
        200.0
    )
    assert power_range_w(Setup(150.0, None, 0.1, 0), limits_of("WT310E"), current_a=0.03) == pytest.approx(
        15.0
    )


def test_no_range_is_smaller_than_the_smallest_of_the_model() -> None:
    # 15 V x 5 mA, and 15 V x 1 A.
    assert limit_w(0.0, 0.0, None, limits_of("WT310E")) == pytest.approx(0.0005 * 0.075)
    assert limit_w(0.0, 0.0, None, limits_of("WT310EH")) == pytest.approx(0.0005 * 15.0)


def test_a_negative_power_has_the_limit_of_its_size() -> None:
    assert limit_w(-10.0, 12.0, 60.0, limits_of("WT310E")) == limit_w(10.0, 12.0, 60.0, limits_of("WT310E"))
    assert relative_uncertainty(-10.0, 12.0, 60.0, limits_of("WT310E")) is None
