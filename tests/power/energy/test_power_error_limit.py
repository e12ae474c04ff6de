from __future__ import annotations

import math
from dataclasses import replace

import pytest

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.energy.power_error_limit import (
    dc_drift_w,
    limit_of,
    limit_w,
    power_range_w,
    signal_of,
    uncertainty,
)
from lpirc_power.meter import Limits, Setup
from lpirc_power.own_term import OwnTerm


@pytest.mark.parametrize(
    ("model", "power_w", "apparent_va", "range_w", "signal", "crest_factor", "line_filter", "manual"),
    [
        # P x (0.1 % + 0.05 % x range / S), twice the range error at crest factor 6, 0.3 % for the line filter.
        ("WT310E", 36.0, 36.0, 75.0, "ac", 3, False, 0.00204),
        ("WT310E", 36.0, 36.0, 75.0, "ac", 3, True, 0.00504),
        ("WT310E", 36.0, 36.0, 375.0, "ac", 6, False, 0.01142),
        ("WT310E", 9.0, 9.0, 120.0, "ac", 6, False, 0.01433),
        # 0.1 % + 0.1 % x 18 / 18 + tan(60 degrees) x 0.2 %.
        ("WT310", 9.0, 18.0, 18.0, "ac", 3, False, 0.00546),
        ("WT310HC", 9.0, 18.0, 18.0, "ac", 3, False, 0.00546),
        ("WT310EH", 10.0, 10.0, 30.0, "dc", 3, False, 0.00900 + 0.001 + 5 * 0.001 * 12 / 10),
        ("WT310HC", 10.0, 10.0, 30.0, "dc", 3, False, 0.00900 + 0.001 + 5 * 0.001 * 12 / 10),
        ("WT310E", 10.0, 10.0, 30.0, "dc", 3, False, 0.00700 + 0.001 + 5 * 500e-6 * 12 / 10),
        ("WT310EH", 10.0, 10.0, 30.0, "ac", 3, False, 0.00250),
        ("WT332", 10.0, 10.0, 30.0, "ac", 3, False, 0.00400),
        # Drift over 5 degrees: of the voltage 5 x 0.02 % of 12 V, of the current what it drifts x 12 V.
        # Below 45 Hz the line filter adds 1 %, and DC is not excepted.
        ("WT310E", 10.0, 10.0, 30.0, "dc", 3, True, 0.01700 + 0.001 + 5 * 500e-6 * 12 / 10),
        # The example of IM WT310E-01EN, page App-23: 40 W of 80 VA in 150 V x 1 A.
        ("WT310E", 40.0, 80.0, 150.0, "ac", 3, False, 0.001 + 0.0005 * 150 / 80 + 0.001 * math.sqrt(3)),
    ],
)  # fmt: skip
def test_the_limit_is_the_manuals(
    model: str,
    power_w: float,
    apparent_va: float,
    range_w: float,
    signal: str,
    crest_factor: int,
    line_filter: bool,
    manual: float,
) -> None:
    volts, mode = (12.0, "dc") if signal == "dc" else (120.0, "rms")
    setup = Setup(
        volts,
        range_w / volts,
        0.25,
        0,
        mode=mode,
        crest_factor=crest_factor,
        line_filter=line_filter,
    )
    found = uncertainty(
        setup,
        limits_of(model),
        volts,
        apparent_va / volts,
        power_w,
        apparent_va,
    )
    assert found == pytest.approx(manual, abs=5e-6)


def test_the_figure_published_for_a_real_run_is_specs_and_more_than_the_manuals() -> (
    None
):
    # SPEC's power daemon, 23.49 W at a power factor of .484 in the ranges 300 V and 0.5 A: 0.626 %.
    apparent_va = 23.49 / 0.484
    spec = (0.001 * 23.49 + 0.0005 * 150 + 0.001 * apparent_va) / 23.49
    found = limit_w(23.49, apparent_va, 150.0, limits_of("WT310E"))
    assert found is not None
    assert spec == pytest.approx(0.00626, abs=5e-6)
    assert found / 23.49 == pytest.approx(
        0.001 + 0.0005 * 150 / apparent_va + 0.001 * math.tan(math.acos(0.484))
    )
    assert found / 23.49 == pytest.approx(0.00435, abs=5e-6)


def test_without_any_power_factor_the_limit_is_a_part_of_the_apparent_power() -> None:
    assert limit_w(0.0, 50.0, 75.0, limits_of("WT310E")) == pytest.approx(0.05)
    assert limit_w(0.0, 50.0, 75.0, limits_of("WT310")) == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("mode", "voltage_v", "power_w", "apparent_va", "signal"),
    [
        ("rms", 230.0, 9.0, 18.0, "ac"),
        ("vmean", 100.0, 9.0, 9.0, "ac"),
        ("rms", 19.0, 9.0, 9.0, None),
        ("rms", 60.0, 9.0, 18.0, None),
        ("rms", math.nan, 9.0, 9.0, None),
        ("dc", 19.0, 9.0, 9.0, "dc"),
        ("dc", -19.0, 9.0, 9.0, "dc"),
        ("dc", 380.0, 9.0, 9.5, "dc"),
        ("dc", 0.1, 9.0, 0.01, None),
        ("dc", math.nan, 9.0, math.nan, None),
    ],
)  # fmt: skip
def test_a_signal_is_known_only_where_the_readings_tell(
    mode: str,
    voltage_v: float,
    power_w: float,
    apparent_va: float,
    signal: str | None,
) -> None:
    assert signal_of(mode, voltage_v, power_w, apparent_va) == signal


def test_of_an_unknown_signal_the_larger_limit_counts() -> None:
    limits = limits_of("WT310E")
    by_signal = [
        limit_w(10.0, 10.0, 30.0, limits, signal) for signal in ("ac", "dc", None)
    ]
    assert by_signal == [
        pytest.approx(0.025),
        pytest.approx(0.07),
        pytest.approx(0.07),
    ]
    # At a low power factor that of AC is larger.
    assert limit_w(0.1, 50.0, 1.0, limits, None) == limit_w(
        0.1,
        50.0,
        1.0,
        limits,
        "ac",
    )


@pytest.mark.parametrize("voltage_share", [0.3, 0.6, 1.3])
@pytest.mark.parametrize("current_share", [0.3, 0.5, 1.3])
def test_without_ranges_the_limit_covers_whatever_automatic_ranging_chose(
    voltage_share: float,
    current_share: float,
) -> None:
    power_w = 12.0
    apparent_va = 20.0
    known = limit_w(
        power_w,
        apparent_va,
        apparent_va / (voltage_share * current_share),
        limits_of("WT310E"),
    )
    unknown = limit_w(power_w, apparent_va, None, limits_of("WT310E"))
    assert known is not None
    assert unknown is not None
    assert unknown >= known - 1e-14


def test_an_apparent_power_below_the_active_one_is_noise() -> None:
    found = limit_w(10.0, 9.99, 60.0, limits_of("WT310E"))
    assert found == limit_w(10.0, 10.0, 60.0, limits_of("WT310E"))


@pytest.mark.parametrize(
    ("power_w", "apparent_va"),
    [
        (math.nan, 1.0),
        (1.0, math.inf),
    ],
)
def test_without_power_there_is_no_limit(
    power_w: float,
    apparent_va: float,
) -> None:
    assert limit_w(power_w, apparent_va, 60.0, limits_of("WT310E")) is None


@pytest.mark.parametrize(
    "model",
    [
        "WT310",
        "WT310HC",
        "WT332",
        "WT333",
        "WT310E",
        "WT310EH",
        "WT332E",
        "WT333E",
        "wt310e",
    ],
)
def test_limits_are_known_of_the_family(model: str) -> None:
    limits = limits_of(model)
    assert limits is not None
    assert limits.source.startswith(
        "IM WT310E-02EN" if "E" in model.upper() else "IM WT310-02EN"
    )


@pytest.mark.parametrize("model", ["", "rapl", "hwmon", "replay", "WT500"])
def test_nothing_is_known_of_others(model: str) -> None:
    assert limits_of(model) is None
    assert limit_w(10.0, 10.0, 60.0, limits_of(model)) is None
    assert limit_w(10.0, 10.0, None, limits_of(model)) is None


@pytest.mark.parametrize(
    ("model", "element", "range_w"),
    [
        ("WT333E", "1", 75.0),
        ("WT333E", "sum", 225.0),
        ("WT332E", "sum", 150.0),
        ("WT310E", "sum", 75.0),
    ],
)
def test_each_element_of_a_sum_has_a_range(
    model: str,
    element: str,
    range_w: float,
) -> None:
    assert (
        power_range_w(Setup(150.0, 0.5, 0.1, 0, element=element), limits_of(model))
        == range_w
    )


def test_an_automatic_range_is_as_large_as_it_may_be_for_what_it_measures() -> None:
    assert (
        power_range_w(Setup(None, None, 0.1, 0), limits_of("WT310E"), 120.0, 0.05)
        is None
    )
    assert power_range_w(Setup(None, 0.5, 0.1, 0), limits_of("WT310E")) is None
    assert power_range_w(
        Setup(None, 0.5, 0.1, 0),
        limits_of("WT310E"),
        voltage_v=120.0,
    ) == pytest.approx(200.0)
    assert power_range_w(
        Setup(150.0, None, 0.1, 0),
        limits_of("WT310E"),
        current_a=0.03,
    ) == pytest.approx(15.0)


def test_no_range_is_smaller_than_the_smallest_of_the_model() -> None:
    # 15 V x 5 mA, and 15 V x 1 A.
    assert limit_w(0.0, 0.0, None, limits_of("WT310E")) == pytest.approx(0.0005 * 0.075)
    assert limit_w(0.0, 0.0, None, limits_of("WT310EH")) == pytest.approx(0.0005 * 15.0)


def test_a_negative_power_has_the_limit_of_its_size() -> None:
    assert limit_w(-10.0, 12.0, 60.0, limits_of("WT310E")) == limit_w(
        10.0,
        12.0,
        60.0,
        limits_of("WT310E"),
    )


def drift_w(
    model: str,
    setup: Setup,
    voltage_v: float,
    current_a: float,
) -> float:
    limits = limits_of(model)
    assert limits is not None
    return dc_drift_w(setup, limits.under(setup), voltage_v, current_a)


def test_a_small_board_on_dc_drifts_by_more_than_the_published_limit() -> None:
    # 2 W at 5 V in 15 V x 0.5 A: 0.1 % + 0.2 % of 7.5 W; 5 x 0.02 % of 15 V x 0.4 A, and 5 x 500 uA x 5 V.
    setup = Setup(15.0, 0.5, 0.1, 0, mode="dc")
    published = 0.001 + 0.002 * 7.5 / 2
    drift = (0.015 * 0.4 + 0.0025 * 5) / 2
    assert published == pytest.approx(0.0085)
    assert drift == pytest.approx(0.00925)
    assert uncertainty(setup, limits_of("WT310E"), 5.0, 0.4, 2.0, 2.0) == pytest.approx(
        published + drift
    )
    steadier = replace(setup, ambient_change_c=1.0)
    assert uncertainty(
        steadier,
        limits_of("WT310E"),
        5.0,
        0.4,
        2.0,
        2.0,
    ) == pytest.approx(published + drift / 5)


@pytest.mark.parametrize(
    ("model", "range_a", "crest_factor", "drift_a"),
    [
        ("WT310", 0.005, 3, 25e-6),
        ("WT310E", 0.2, 3, 25e-6),
        ("WT310E", 0.5, 3, 2.5e-3),
        ("WT310E", 20.0, 3, 2.5e-3),
        ("WT333", 0.5, 3, 2.5e-3),
        ("WT310EH", 1.0, 3, 5e-3),
        ("WT310HC", 40.0, 3, 5e-3),
        # Crest factor 6 halves the ranges: 0.25 A is what 0.5 A was, 0.1 A what 0.2 A was.
        ("WT310E", 0.1, 6, 25e-6),
        ("WT310E", 0.25, 6, 2.5e-3),
    ],
)
def test_the_drift_of_the_current_is_that_of_its_range_in_the_manual(
    model: str,
    range_a: float,
    crest_factor: int,
    drift_a: float,
) -> None:
    setup = Setup(15.0, range_a, 0.1, 0, crest_factor=crest_factor)
    assert drift_w(model, setup, 10.0, 0.0) == pytest.approx(drift_a * 10.0)
    assert drift_w(model, setup, 0.0, 1.0) == pytest.approx(5 * 0.0002 * 15.0)


def test_of_a_sum_each_element_drifts() -> None:
    one, all_of_them = (
        drift_w("WT333E", Setup(15.0, 0.5, 0.1, 0, element=e), 5.0, 0.4)
        for e in ("1", "sum")
    )
    assert all_of_them == pytest.approx(3 * one)


def test_the_drift_in_automatic_ranges_covers_whatever_automatic_ranging_chose() -> (
    None
):
    for crest_factor in (3, 6):
        automatic = Setup(None, None, 0.1, 0, crest_factor=crest_factor)
        for volts, range_v, amperes, range_a in (
            (5.0, 15.0, 0.07, 0.2),
            (1.0, 15.0, 0.16, 0.5),
            (18.0, 60.0, 9.0, 20.0),
        ):
            halved = 3 / crest_factor
            fixed = replace(
                automatic,
                voltage_range_v=range_v * halved,
                current_range_a=range_a * halved,
            )
            found, chosen = (
                drift_w("WT310E", setup, volts * halved, amperes * halved)
                for setup in (automatic, fixed)
            )
            assert chosen - 1e-15 <= found <= 1.2 * chosen


def test_ac_does_not_drift_and_an_unknown_signal_only_where_dc_has_the_larger_limit() -> (
    None
):
    limits = limits_of("WT310E")
    found = [
        limit_of(10.0, va, 30.0, limits, signal, 0.05)
        for signal, va in (
            ("ac", 10.0),
            ("dc", 10.0),
            (None, 10.0),
        )
    ]
    assert [one and one.drift_w for one in found] == [0.0, 0.05, 0.05]
    mostly_reactive = limit_of(0.1, 200.0, 1.0, limits, None, 0.05)
    assert mostly_reactive is not None
    assert mostly_reactive.drift_w == 0.0


def test_a_drift_that_is_not_known_leaves_only_the_limit_of_ac() -> None:
    limits = limits_of("WT310E")
    assert [limit_of(10.0, 10.0, 30.0, limits, signal, math.nan) is None for signal in ("ac", "dc", None)] == [
        False, True, True
    ]  # fmt: skip


def test_the_accuracy_of_a_reading_has_what_the_driver_states_as_its_own() -> None:
    own = (
        OwnTerm("offset", "the constant part", "data sheet", power_w=0.010),
        OwnTerm("clamp", "the clamp", "data sheet", share=0.02),
        OwnTerm("step", "the step of the counter", "data sheet", energy_wh=0.001),
    )
    limits = Limits(0.015, 0.0, 0.0, 0.0, 15.0, source="data sheet", own=own)
    setup = Setup(None, None, 0.25, 0)
    found = uncertainty(setup, limits, 5.0, 0.2, 1.0, 1.0)
    assert found == pytest.approx(0.015 + 0.02 + 0.010)
