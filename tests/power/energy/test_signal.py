from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_power.energy import measurement_checks, power_error_limit
from lpirc_power.meter import Limits
from lpirc_power.own_term import OwnTerm


def flat(
    reading: Any,
    power_w: float,
    **different: object,
) -> list[Any]:
    given_too = {
        "apparent_va": abs(power_w),
        "current_a": abs(power_w) / 120.0,
        **different,
    }
    return [reading(float(t), power_w=power_w, **given_too) for t in range(11)]


@pytest.mark.parametrize(
    ("flag", "code"),
    [
        ("over_range", "over-range"),
        ("voltage_peak_over", "peak-clipping"),
        ("current_peak_over", "peak-clipping"),
    ],
)
def test_one_flagged_reading_fails_its_check(
    reading: Any,
    measurement: Any,
    checks: Any,
    flag: str,
    code: str,
) -> None:
    readings = flat(reading, 6.0)
    readings[5] = reading(5.0, **{flag: True})
    found = checks(readings, measurement())
    assert [check.code for check in found.values() if not check.ok] == [code]
    assert found[code].figures["flagged"] == 1
    assert found[code].figures["first_monotonic_s"] == 5.0


@pytest.mark.parametrize("length", [1, 11])
def test_what_holds_is_not_told_in_the_words_of_a_failure(
    reading: Any,
    measurement: Any,
    checks: Any,
    length: int,
) -> None:
    found = checks(flat(reading, 6.0)[:length], measurement())
    told = [found[code].sentence for code in ("over-range", "peak-clipping")]
    assert told == [
        f"No reading was over range, of {length} in all.",
        f"No reading was clipped at the peaks, of {length} in all.",
    ]
    clipped = checks([reading(5.0, current_peak_over=True)], measurement())[
        "peak-clipping"
    ].sentence
    assert (
        clipped
        == "Readings clipped at the peaks, so the energy reads too low: 1 of 1; use a larger range."
    )


def test_a_flag_outside_the_window_does_not_count(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    readings = [*flat(reading, 6.0), reading(11.0, over_range=True)]
    assert checks(readings, measurement())["over-range"].ok


def test_a_clamp_the_wrong_way_round_is_an_error(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    found = checks(flat(reading, -6.0), measurement())["negative-power"]
    assert found.ok is False
    assert found.severity == "error"
    assert found.figures == {
        "negative": 11,
        "readings": 11,
        "least_w": -6.0,
        "first_monotonic_s": 0.0,
    }
    assert "are reversed" in found.sentence


def test_the_limit_of_a_reading_is_computed_only_below_0(
    reading: Any, measurement: Any, checks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is the dearest part of a judgement: a run has 36,000 readings."""
    asked_w = []

    def limit_w(power_w: float, *others: Any) -> float | None:
        asked_w.append(power_w)
        return power_error_limit.limit_w(power_w, *others)

    monkeypatch.setattr(measurement_checks, "limit_w", limit_w)
    readings = [*flat(reading, 6.0)[:-1], flat(reading, -6.0)[-1]]
    assert not checks(readings, measurement())["negative-power"].ok
    assert asked_w == [-6.0]


# In the range of 15 W a WT310E may be wrong by 30 mW and 0.1 % of reading at DC; at AC of a low power factor by 0.1 %
# of the apparent power, which is less here.
@given(st.floats(-0.05, 0.05), st.floats(0, 1))
def test_a_reading_is_negative_exactly_beyond_the_meters_own_error(
    reading: Any,
    measurement: Any,
    checks: Any,
    power_w: float,
    apparent_va: float,
) -> None:
    apparent_va = max(apparent_va, abs(power_w))
    readings = [
        *flat(reading, 6.0),
        reading(5.5, power_w=power_w, apparent_va=apparent_va),
    ]
    limit_w = 0.002 * 15.0 + 0.001 * abs(power_w)
    found = checks(readings, measurement())["negative-power"]
    assert found.ok is (power_w >= -limit_w)


def test_what_a_driver_states_as_its_own_may_lie_below_nothing(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    offset = OwnTerm("offset", "the constant part", "data sheet", power_w=0.010)
    limits = Limits(0.015, 0.0, 0.0, 0.0, 15.0, source="data sheet", own=(offset,))
    measured = measurement({"voltage_range_v": None, "current_range_a": None})
    measured = replace(measured, limits=limits)
    for power_w, holds in ((-0.010, True), (-0.011, False)):
        readings = [*flat(reading, 6.0), reading(5.5, power_w=power_w)]
        assert checks(readings, measured)["negative-power"].ok is holds


def test_nanowatts_below_nothing_are_noise_in_automatic_ranges_too(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    automatic = measurement({"voltage_range_v": None, "current_range_a": None})
    readings = flat(
        reading,
        -5e-9,
        voltage_v=0.0,
        current_a=0.0,
        apparent_va=0.0,
    )
    assert checks(readings, automatic)["negative-power"].ok
    assert not checks(flat(reading, -6.0), automatic)["negative-power"].ok


def test_a_meter_of_unknown_error_may_be_a_hundredth_of_its_largest_power_below_nothing(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    home = measurement(
        {"voltage_range_v": None, "current_range_a": None},
        model="hwmon",
        official=False,
    )

    def ok(least_w: float) -> bool:
        unknown = dict.fromkeys(
            ("voltage_v", "current_a", "apparent_va", "power_factor"),
            math.nan,
        )
        readings = [
            *flat(reading, 6.0, **unknown),
            reading(5.5, **{**unknown, "power_w": least_w}),
        ]
        return bool(checks(readings, home)["negative-power"].ok)

    assert ok(-0.06)
    assert not ok(-0.061)


@given(st.floats(0, 0.5), st.sampled_from(["1", "sum"]))
def test_a_load_is_too_low_exactly_below_half_a_percent_of_its_range(
    reading: Any,
    measurement: Any,
    checks: Any,
    power_w: float,
    element: str,
) -> None:
    # The three elements of a WT333E have a range each.
    measured = measurement({"element": element}, model="WT333E")
    range_w = 15.0 * (3 if element == "sum" else 1)
    readings = flat(reading, power_w, current_a=0.05)
    found = checks(readings, measured)["low-load"]
    mean_w = math.fsum([power_w] * 11) / 11
    assert found.figures["least_w"] == pytest.approx(0.005 * range_w)
    assert found.ok is (mean_w >= found.figures["least_w"] and power_w != 0.0)
    if mean_w < found.figures["least_w"]:
        assert found.severity == "error"


@pytest.mark.parametrize(("crest_factor", "ok"), [(3, True), (6, False)])
def test_at_crest_factor_6_twice_as_much_is_shown_as_nothing(
    reading: Any,
    measurement: Any,
    checks: Any,
    crest_factor: int,
    ok: bool,
) -> None:
    # 0.1 W is 0.67 % of 15 W.
    found = checks(
        flat(reading, 0.1, current_a=0.05),
        measurement({"crest_factor": crest_factor}),
    )["low-load"]
    assert found.ok is ok
    assert ok or "less than 1.0% of the range of 15 W" in found.sentence


def test_a_negative_load_is_not_low(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    assert checks(flat(reading, -6.0), measurement())["low-load"].ok


@pytest.mark.parametrize("shown_as_nothing", ["voltage_v", "current_a", "power_w"])
def test_single_readings_that_show_nothing_are_a_warning(
    reading: Any,
    measurement: Any,
    checks: Any,
    shown_as_nothing: str,
) -> None:
    readings = [*flat(reading, 6.0), reading(5.5, **{shown_as_nothing: 0.0})]
    found = checks(readings, measurement())["low-load"]
    assert found.ok is False
    assert found.severity == "warning"
    assert found.figures["zeros"] == 1


def test_readings_that_all_show_nothing_are_an_error_in_automatic_ranges_too(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    automatic = measurement({"voltage_range_v": None, "current_range_a": None})
    found = checks(flat(reading, 0.0), automatic)["low-load"]
    assert found.ok is False
    assert found.severity == "error"
    assert checks(flat(reading, 1e-3), automatic)["low-load"].ok


def test_without_any_reading_there_is_no_word_of_the_load(
    measurement: Any,
    checks: Any,
) -> None:
    found = checks([], measurement())
    assert found["low-load"].ok
    assert found["low-load"].sentence == "Unknown: no reading carries a power."
    assert found["negative-power"].ok
    assert not found["no-data"].ok
