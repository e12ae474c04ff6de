from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_power.meter_standing import Standing


def flat(
    reading: Any,
    power_w: float,
    apparent_va: float,
) -> list[Any]:
    amperes = apparent_va / 120.0
    return [
        reading(
            float(t),
            power_w=power_w,
            apparent_va=apparent_va,
            current_a=amperes,
        )
        for t in range(11)
    ]


def test_a_meter_that_was_changed_in_the_run_is_an_error_that_names_what(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    changes = (
        ":INPUT:CURRENT:RANGE 100MA was set, it is 1.0E+00",
        ":INPUT:CURRENT:AUTO OFF was set, it is 1",
    )
    found = checks(flat(reading, 6.0, 6.0), measurement(changes=changes))[
        "range-changed"
    ]
    assert found.ok is False
    assert found.severity == "error"
    assert found.figures == {"changes": 2, "readings": 0}
    assert all(change in found.sentence for change in changes)
    assert checks([], measurement())["range-changed"].ok


def test_settings_that_readings_name_in_another_order_are_named_once(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    readings = flat(reading, 6.0, 6.0)
    readings[4] = reading(4.0, changed="a was set, it is 1; b was set, it is 2")
    readings[6] = reading(6.0, changed="b was set, it is 2; a was set, it is 1")
    sentence = checks(readings, measurement())["range-changed"].sentence
    assert "(a was set, it is 1; b was set, it is 2)" in sentence


@given(
    st.floats(0.1, 30),
    st.floats(0.1, 1.0),
    st.sampled_from(["WT310", "WT310E"]),
    st.sampled_from([3, 6]),
    st.booleans(),
)
def test_accuracy_holds_exactly_up_to_one_percent(
    reading: Any,
    measurement: Any,
    checks: Any,
    power_w: float,
    factor: float,
    model: str,
    crest: int,
    filtered: bool,
) -> None:
    range_share, influence = {"WT310": (0.001, 0.002), "WT310E": (0.0005, 0.001)}[model]
    expected = (
        0.001 + range_share * crest / 3 * 15.0 * factor / power_w + filtered * 0.003
    )
    expected += influence * math.tan(math.acos(factor))
    setup = {"crest_factor": crest, "line_filter": filtered}
    measured = measurement(setup, power_w, model=model)
    found = checks(flat(reading, power_w, power_w / factor), measured)["accuracy"]
    assert found.figures["uncertainty"] == pytest.approx(expected, rel=1e-6)
    assert found.ok is (found.figures["uncertainty"] <= 0.01)
    assert found.severity == "error"


@given(st.floats(0.1, 30), st.floats(0.1, 30))
def test_more_power_in_one_range_is_never_known_less_well(
    reading: Any,
    measurement: Any,
    checks: Any,
    one_w: float,
    other_w: float,
) -> None:
    less, more = (
        checks(flat(reading, power_w, 30.0), measurement(power_w=power_w))[
            "accuracy"
        ].figures["uncertainty"]
        for power_w in sorted((one_w, other_w))
    )
    assert more <= less + 1e-15


def test_the_power_is_that_of_the_energy_and_not_the_mean_of_the_readings(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    # A host that saw only the bursts: the readings' mean is 12 W, the energy's 6 W; the power factor is theirs.
    found = checks(flat(reading, 12.0, 24.0), measurement())["accuracy"].figures
    assert found["mean_power_w"] == pytest.approx(6.0)
    assert found["mean_apparent_va"] == pytest.approx(12.0)
    # An integrator that ran for half of the window has the mean power of that half.
    half = measurement(power_w=3.0, integrator_s=5.0)
    assert checks(flat(reading, 12.0, 12.0), half)["accuracy"].figures[
        "mean_power_w"
    ] == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("mode", "volts", "va", "expected", "told"),
    [
        ("rms", 120.0, 10.0, 0.001 + 0.0005 * 3, False),
        ("vmean", 230.0, 10.0, 0.001 + 0.0005 * 3, False),
        ("dc", 12.0, 10.0, 0.003 + 0.002 * 3, False),
        ("dc", 120.0, 10.0, 0.003 + 0.002 * 3, False),
        # A board on 12 V in mode rms: only its operator knows that it is DC.
        ("rms", 12.0, 10.0, 0.003 + 0.002 * 3, True),
        # AC in mode dc: its means are nearly nothing, its power is not.
        ("dc", 0.01, 0.0, 0.003 + 0.002 * 3, True),
    ],
)
def test_the_row_of_dc_is_taken_by_the_signal(
    reading: Any,
    measurement: Any,
    checks: Any,
    mode: str,
    volts: float,
    va: float,
    expected: float,
    told: bool,
) -> None:
    ranges = {
        "voltage_range_v": 15.0,
        "current_range_a": 2.0,
        "mode": mode,
    }
    readings = [
        reading(
            float(t),
            voltage_v=volts,
            current_a=1.0,
            power_w=10.0,
            apparent_va=va,
        )
        for t in range(11)
    ]
    found = checks(readings, measurement(ranges, power_w=10.0, model="WT310EH"))[
        "accuracy"
    ]
    # Drift over 5 degrees: 0.02 % of 15 V x 1 A, and 1 mA x the voltage.
    drift = (
        0.0
        if volts > 60.0 and mode != "dc"
        else 5 * (0.0002 * 15.0 * 1.0 + 0.001 * volts) / 10.0
    )
    assert found.figures["uncertainty"] == pytest.approx(expected + drift)
    assert found.figures.get("drift", 0.0) == pytest.approx(drift)
    assert ("the readings do not show which of both it is" in found.sentence) is told


def test_the_sentence_names_manual_and_pages(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    found = checks(flat(reading, 6.0, 6.0), measurement())["accuracy"]
    assert (
        found.sentence
        == "The meter's limit of error is 0.225% of the energy by IM WT310E-02EN, pages 7-7 and 7-8."
    )


def test_automatic_ranges_are_taken_at_their_worst_and_only_warn(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    automatic = {"voltage_range_v": None, "current_range_a": None}
    fine = checks(flat(reading, 6.0, 6.0), measurement(automatic))["accuracy"]
    assert fine.ok
    assert fine.figures["uncertainty"] == pytest.approx(0.001 + 0.0005 / 0.09)
    poor = checks(flat(reading, 6.0, 6.0), measurement(automatic, model="WT310"))[
        "accuracy"
    ]
    assert poor.ok is False
    assert poor.severity == "warning"
    assert "at worst" in poor.sentence


def test_one_automatic_range_is_taken_at_its_worst(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    mixed = measurement({"voltage_range_v": 600.0, "current_range_a": None})
    found = checks(flat(reading, 6.0, 6.0), mixed)["accuracy"]
    assert found.figures["range_w"] == pytest.approx(600.0 * 0.05 / 0.3)


def test_a_meter_that_shows_no_power_has_not_shown_its_accuracy(
    reading: Any,
    measurement: Any,
    checks: Any,
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
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    found = checks(
        flat(reading, 6.0, math.nan),
        measurement(model="rapl", official=False),
    )
    assert found["accuracy"].ok
    assert found["accuracy"].sentence == (
        "No driver states this meter's limits of error: the uncertainty of its energy is unknown."
    )


@pytest.mark.parametrize("standing", list(Standing))
def test_an_unofficial_meter_is_a_warning_that_says_why(
    measurement: Any,
    checks: Any,
    standing: Standing,
) -> None:
    measured = measurement(official=standing.official, standing=standing)
    found = checks([], measured)["official-meter"]
    assert found.ok == standing.official
    assert found.severity == "warning"
    assert standing.reason() in found.sentence
    assert ("is unofficial" in found.sentence) is not standing.official
    assert bool(standing.reason()) is (standing is not Standing.OFFICIAL)


def test_of_an_older_run_only_the_verdict_is_known(
    measurement: Any,
    checks: Any,
) -> None:
    told = [
        checks([], measurement(official=counts))["official-meter"].sentence
        for counts in (True, False)
    ]
    assert told == [
        "The WT310E counts in a contest.",
        "The WT310E is unofficial, and leaderboards mark its energy as unofficial.",
    ]
