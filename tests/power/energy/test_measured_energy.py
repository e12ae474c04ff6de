from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from lpirc_power.energy import Energy, Measurement, energy_checks, energy_of
from lpirc_power.energy.accuracy_checks import accuracy
from lpirc_power.meter import Limits

PLAIN = Limits(0.002, 0.001, 0.001, 0.0, 10.0)
"""Of a meter that shows watts only: no influence of the apparent power, no drift."""


def taken(
    reading: Any,
    power_w: float,
    **different: float,
) -> list[Any]:
    values = {"apparent_va": power_w, "current_a": power_w / 120.0} | different
    return [reading(float(t), power_w=power_w, **values) for t in range(11)]


def on_dc(
    reading: Any,
    measurement: Any,
    power_w: float = 2.0,
    **setup: object,
) -> Energy:
    """A board on 5 V by a WT310E in 15 V and 0.5 A."""
    given = {
        "voltage_range_v": 15.0,
        "current_range_a": 0.5,
        "mode": "dc",
    } | setup
    readings = taken(reading, power_w, voltage_v=5.0, current_a=power_w / 5.0)
    return energy_of(readings, measurement(given, power_w=power_w))


def test_an_energy_says_its_power_its_limit_and_how_it_is_known(
    reading: Any,
    measurement: Any,
) -> None:
    found = energy_of(taken(reading, 6.0), measurement())
    assert found.energy_wh == pytest.approx(6.0 / 360)
    assert found.energy_s == 10.0
    assert found.mean_power_w == pytest.approx(6.0)
    assert found.range_w == 15.0
    assert found.signal == "ac"
    assert found.limit == pytest.approx(0.001 + 0.0005 * 15 / 6)
    assert found.drift == 0.0
    assert found.known_by == "IM WT310E-02EN, pages 7-7 and 7-8"


def test_what_start_and_stop_took_and_what_a_stop_was_late_are_in_the_limit(
    reading: Any,
    measurement: Any,
) -> None:
    long = {"integrator_timer_s": 600, "update_interval_s": 0.1}
    readings = taken(reading, 6.0)
    in_time, late = (
        energy_of(readings, measurement(long, start_stop_s=0.3, late_s=late_s))
        for late_s in (0.0, 1.5)
    )
    assert in_time.start_stop_share == pytest.approx((0.3 + 0.1) / 10)
    assert late.limit - in_time.limit == pytest.approx(1.5 / 10)


def test_a_meter_that_tells_fractions_of_a_second_says_itself_how_much_longer_it_ran(
    reading: Any,
    measurement: Any,
) -> None:
    long = {"integrator_timer_s": 600}
    found = energy_of(
        taken(reading, 6.0),
        measurement(long, integrator_s=10.4, start_stop_s=0.1),
    )
    assert found.start_stop_share == pytest.approx(0.4 / 10)


def test_the_check_states_the_energy_that_it_is_given(
    reading: Any,
    measurement: Any,
) -> None:
    readings = taken(reading, 6.0)
    measured = measurement()
    energy = energy_of(readings, measured)
    assert accuracy(energy) in energy_checks(readings, measured)
    other = replace(energy, meter_limit=0.02)
    found = {one.code: one for one in energy_checks(readings, measured, other)}[
        "accuracy"
    ]
    assert found.ok is False
    assert found.figures["uncertainty"] == 0.02


def test_the_sentence_says_how_much_is_drift_for_how_many_degrees_and_where_it_is_stated(
    reading: Any,
    measurement: Any,
) -> None:
    energy = on_dc(reading, measurement)
    assert energy.limit == pytest.approx(0.01775)
    assert energy.drift == pytest.approx(0.00925)
    found = accuracy(energy)
    assert found.ok is False
    assert found.figures["ambient_change_c"] == 5.0
    assert found.sentence == (
        "The meter's limit of error is 1.775% of the energy by IM WT310E-02EN, pages 7-7 and 7-8, including 0.925% of "
        "drift for 5 degrees C since the zero level was compensated (IM WT310E-02EN, page 7-7); that is more than "
        "1%: use smaller ranges, and if the temperature is steadier, write a smaller ambient_change_c."
    )
    steady = accuracy(on_dc(reading, measurement, ambient_change_c=0.8))
    assert steady.ok
    assert "0.148% of drift for 0.8 degrees C" in steady.sentence


def test_a_drift_that_does_not_matter_is_not_told(
    reading: Any,
    measurement: Any,
) -> None:
    sentence = accuracy(on_dc(reading, measurement, ambient_change_c=0.1)).sentence
    assert (
        sentence
        == "The meter's limit of error is 0.869% of the energy by IM WT310E-02EN, pages 7-7 and 7-8."
    )


def watts_only(measurement: Any, **limits: object) -> Measurement:
    made: Measurement = replace(
        measurement(model="PM100"),
        limits=replace(PLAIN, **limits),
    )  # type: ignore[arg-type]
    return made


def test_a_meter_that_shows_only_watts_has_the_limit_that_its_driver_states(
    reading: Any,
    measurement: Any,
) -> None:
    nothing = {
        "voltage_v": math.nan,
        "current_a": math.nan,
        "apparent_va": math.nan,
    }
    found = energy_of(taken(reading, 6.0, **nothing), watts_only(measurement))
    # 0.2 % of the reading and 0.1 % of 150 V x 0.1 A.
    assert found.limit == pytest.approx(0.002 + 0.001 * 15 / 6)
    assert found.drift == 0.0
    assert found.known_by == "the meter's driver"
    assert accuracy(found).sentence.startswith(
        "The meter's limit of error is 0.450% of the energy."
    )


def test_the_larger_limit_of_ac_and_dc_is_told_only_where_they_differ(
    reading: Any,
    measurement: Any,
) -> None:
    unclear = {"voltage_v": 12.0}
    differing = watts_only(measurement, dc_range_share=0.002)
    found = energy_of(taken(reading, 6.0, **unclear), differing)
    assert found.known_by == "the meter's driver, the larger limit of AC and DC"
    assert "the larger limit of AC and DC, since" in accuracy(found).sentence
    found = energy_of(taken(reading, 6.0, **unclear), watts_only(measurement))
    assert found.signal is None
    assert "AC and DC" not in accuracy(found).sentence


@pytest.mark.parametrize(
    ("limits", "power_w", "read_w", "sentence"),
    [
        (
            {"apparent_share": 0.001},
            6.0,
            6.0,
            "The accuracy is unknown, because the meter's limit of error depends",
        ),
        (
            {"drift": True},
            6.0,
            6.0,
            "The meter's limit of error is unknown: the readings' voltage and current",
        ),
        ({}, 6.0, math.nan, "No reading shows a power"),
        (
            {},
            0.0,
            6.0,
            "The accuracy of 0 Wh in 10 s is unknown: its limit of error needs a mean power above 0 W.",
        ),
    ],
)
def test_where_a_limit_is_not_known_the_sentence_says_why_and_does_not_hold(
    reading: Any,
    measurement: Any,
    limits: dict[str, Any],
    power_w: float,
    read_w: float,
    sentence: str,
) -> None:
    if "drift" in limits:
        limits = {"drift": measurement().limits.drift}
    nothing = {
        "voltage_v": math.nan,
        "current_a": math.nan,
        "apparent_va": math.nan,
    }
    measured = replace(
        watts_only(measurement, **limits),
        integrator_wh=power_w * 10 / 3600,
    )
    found = accuracy(energy_of(taken(reading, read_w, **nothing), measured))
    assert not found.ok
    assert found.sentence.startswith(sentence)
    assert found.figures["uncertainty"] is None
