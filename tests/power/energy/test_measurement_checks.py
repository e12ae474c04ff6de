from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lpirc_power.recording import read_recording

CODES = [
    "integrator-trapezoid", "integrator-time", "integrator-stopped", "integrator-steps",
    "over-range", "peak-clipping", "negative-power", "low-load",
    "range-changed", "reading-gaps", "unseen-energy", "no-data", "accuracy", "official-meter",
]  # fmt: skip
ANY = st.floats(-1e6, 1e6) | st.sampled_from([math.nan, math.inf, -math.inf])


def test_a_sound_run_passes_every_check(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    readings = [
        reading(0.0, power_w=math.nan),
        *(reading(float(t)) for t in range(1, 11)),
    ]
    found = checks(readings, measurement())
    assert list(found) == CODES
    assert [check.sentence for check in found.values() if not check.ok] == []


@pytest.mark.parametrize("late_s", [0.25, 0.9])
def test_an_answer_that_comes_late_from_a_busy_host_is_no_jump_of_wh(
    reading: Any,
    measurement: Any,
    checks: Any,
    late_s: float,
) -> None:
    """Its reading has the time of the question, and the WH of when the meter got to it."""
    times_s = [number / 10 for number in range(1, 100)]
    answered_s = {asked_s: asked_s for asked_s in times_s}
    answered_s[5.0] += late_s
    asked_s = [one for one in times_s if not 5.0 < one <= 5.0 + late_s]
    readings = [reading(one, energy_wh=6.0 * answered_s[one] / 3600) for one in asked_s]
    found = checks(readings, measurement({"update_interval_s": 0.1}))
    assert found["integrator-steps"].ok, found["integrator-steps"].sentence


@example(
    said=[
        (0.0, 0.0, math.inf),
        (0.0, 0.0, -math.inf),
    ],
    wh=0.0,
    s=0.0,
)
@given(st.lists(st.tuples(st.floats(-1, 12), ANY, ANY), max_size=8), ANY, ANY)
def test_whatever_a_meter_says_every_check_gives_figures_that_json_can_hold(
    reading: Any,
    measurement: Any,
    checks: Any,
    said: list[tuple[float, float, float]],
    wh: float,
    s: float,
) -> None:
    readings = [
        reading(t, power_w=power_w, apparent_va=apparent)
        for t, power_w, apparent in said
    ]
    found = checks(readings, measurement(integrator_wh=wh, integrator_s=s))
    assert list(found) == CODES
    for check in found.values():
        json.dumps(check.figures, allow_nan=False)
        assert check.sentence.endswith(".")


@pytest.mark.parametrize("home", ["rapl", "hwmon", "replay"])
def test_a_meter_at_home_without_voltage_passes_but_for_being_one(
    reading: Any,
    measurement: Any,
    checks: Any,
    home: str,
) -> None:
    unknown = dict.fromkeys(
        ("voltage_v", "current_a", "apparent_va", "power_factor"),
        math.nan,
    )
    readings = [reading(float(t), **unknown) for t in range(11)]
    found = checks(
        readings,
        measurement({"voltage_range_v": None}, model=home, official=False),
    )
    assert [code for code, check in found.items() if not check.ok] == ["official-meter"]


def test_the_checks_of_a_real_run_tell_how_little_its_ranges_fitted(
    recordings: Path,
    measurement: Any,
    checks: Any,
) -> None:
    readings = read_recording(recordings / "wt310_readings_user_330.csv")
    final = readings[-1]
    start_s = readings[0].monotonic_s
    # Nobody wrote its ranges down; 0.088 W at a power factor of 0.05 is far below what any of them measures well.
    measured = measurement(
        {"voltage_range_v": 150.0, "current_range_a": 0.02},
        integrator_wh=final.energy_wh,
        integrator_s=30.0,
        start_s=start_s,
        end_s=start_s + 30.4,
        model="WT310",
    )
    found = checks(readings, measured)
    assert [code for code, check in found.items() if not check.ok] == ["accuracy"]
