from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st


def flat(reading: Any, power_w: float, apparent_va: float) -> list[Any]:
    amperes = apparent_va / 120.0
    return [reading(float(t), power_w=power_w, apparent_va=apparent_va, current_a=amperes) for t in range(11)]


def test_a_meter_that_was_changed_in_the_run_is_an_error_that_names_what(
    reading: Any, measurement: Any, checks: Any
) -> None:
    changes = (
        ":INPUT:CURRENT:RANGE 100MA was set, it is 1.0E+00",
        ":INPUT:CURRENT:AUTO OFF was set, it is 1",
    )
    found = checks(flat(reading, 6.0, 6.0), measurement(changes=changes))["range-changed"]
    assert (found.ok, found.severity, found.figures) == (False, "error", {"changes": 2, "readings": 0})
    assert all(change in found.sentence for change in changes)
    assert checks([], measurement())["range-changed"].ok


@given(
    st.floats(0.1, 30),
    st.floats(0.1, 1.0),
    st.sampled_from(["WT310", "WT310E"]),
    st.sampled_from(["rms", "dc"]),
)
def test_accuracy_holds_exactly_up_to_one_percent(
    reading: Any, measurement: Any, checks: Any, power_w: float, power_factor: float, model: str, mode: str
) -> None:
    apparent_va = power_w / power_factor
    share = 0.002 if mode == "dc" else {"WT310": 0.001, "WT310E": 0.0005}[model]
    expected = (0.001 * power_w + share * 15.0 + 0.001 * apparent_va) / power_w
    found = checks(flat(reading, power_w, apparent_va), measurement({"mode": mode}, model=model))["accuracy"]
    assert found.figures["uncertainty"] == pytest.approx(expected, rel=1e-9)
    assert found.ok is (found.figures["uncertainty"] <= 0.01)
    assert found.severity == "error"


@given(st.floats(0.1, 30), st.floats(0.1, 30))
def test_more_power_in_one_range_is_never_known_less_well(
    reading: Any, measurement: Any, checks: Any, one_w: float, other_w: float
) -> None:
    less, more = (
        checks(flat(reading, power_w, 30.0), measurement())["accuracy"].figures["uncertainty"]
        for power_w in sorted((one_w, other_w))
    )
    assert more <= less + 1e-15


def test_the_published_run_is_accurate_enough(reading: Any, measurement: Any, checks: Any) -> None:
    ranges = {"voltage_range_v": 300.0, "current_range_a": 0.5}
    found = checks(flat(reading, 23.49, 23.49 / 0.484), measurement(ranges))["accuracy"]
    assert found.ok
    assert "0.63%" in found.sentence


def test_automatic_ranges_are_taken_at_their_worst_and_only_warn(
    reading: Any, measurement: Any, checks: Any
) -> None:
    automatic = {"voltage_range_v": None, "current_range_a": None}
    fine = checks(flat(reading, 6.0, 6.0), measurement(automatic))["accuracy"]
    assert fine.ok
    assert fine.figures["uncertainty"] == pytest.approx(0.002 + 0.0005 / 0.09)
    poor = checks(flat(reading, 6.0, 12.0), measurement(automatic))["accuracy"]
    assert (poor.ok, poor.severity) == (False, "warning")
    assert "at worst" in poor.sentence


def test_one_automatic_range_is_taken_at_its_worst(reading: Any, measurement: Any, checks: Any) -> None:
    mixed = measurement({"voltage_range_v": 600.0, "current_range_a": None})
    found = checks(flat(reading, 6.0, 6.0), mixed)["accuracy"]
    assert found.figures["range_w"] == pytest.approx(600.0 * 0.05 / 0.3)


def test_a_meter_that_shows_no_power_has_not_shown_its_accuracy(
    reading: Any, measurement: Any, checks: Any
) -> None:
    for readings in (
        [],
        flat(reading, math.nan, math.nan),
        flat(reading, -6.0, 6.0),
        flat(reading, 0.0, 0.0),
    ):
        found = checks(readings, measurement())["accuracy"]
        assert not found.ok
        assert found.figures["uncertainty"] is None


def test_nothing_is_known_of_a_meter_at_home_and_nothing_is_held_against_it(
    reading: Any, measurement: Any, checks: Any
) -> None:
    found = checks(flat(reading, 6.0, math.nan), measurement(model="rapl", official=False))
    assert found["accuracy"].ok
    assert found["accuracy"].sentence == "Nothing is known of this meter's accuracy."


def test_an_unofficial_meter_is_a_warning(reading: Any, measurement: Any, checks: Any) -> None:
    found = checks([], measurement(official=False))["official-meter"]
    assert (found.ok, found.severity) == (False, "warning")
    assert "unofficial, simulated or for rehearsals" in found.sentence
    assert checks([], measurement())["official-meter"].ok
