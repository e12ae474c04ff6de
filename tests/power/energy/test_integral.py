from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpirc_power.energy import Measurement, energy_checks
from lpirc_power.meter import Reading

SOUND_WH = 6.0 * 600 / 3600


def compared(readings: list[Reading], measured: Measurement) -> Any:
    return next(
        check
        for check in energy_checks(readings, measured)
        if check.code == "integrator-trapezoid"
    )


def test_an_integral_that_does_not_fit_the_readings_fails(
    reading: Any,
    measurement: Any,
) -> None:
    readings = [reading(float(t)) for t in range(601)]
    assert compared(
        readings,
        measurement(end_s=600.0, integrator_wh=SOUND_WH * 1.005),
    ).ok
    wrong = compared(readings, measurement(end_s=600.0, integrator_wh=SOUND_WH * 1.01))
    assert not wrong.ok
    assert wrong.severity == "error"
    assert wrong.figures["difference_wh"] == pytest.approx(SOUND_WH * 0.01)


@pytest.mark.parametrize("seconds", [10, 60, 600])
def test_tolerance_is_half_a_percent_and_one_update_of_the_largest_power(
    reading: Any,
    measurement: Any,
    seconds: int,
) -> None:
    readings = [reading(float(t)) for t in range(seconds + 1)]
    sound_wh = 6.0 * seconds / 3600
    update_wh = 6.0 / 3600
    found = compared(
        readings,
        measurement(
            end_s=float(seconds),
            integrator_wh=sound_wh,
            start_stop_s=0.0,
        ),
    )
    assert found.figures["tolerance_wh"] == pytest.approx(
        0.00501 * sound_wh + update_wh
    )


@given(offset=st.floats(-0.2, 0.2))
def test_it_holds_exactly_within_its_tolerance(
    reading: Any,
    measurement: Any,
    offset: float,
) -> None:
    readings = [reading(float(t)) for t in range(601)]
    found = compared(
        readings,
        measurement(end_s=600.0, integrator_wh=SOUND_WH * (1 + offset)),
    )
    assert found.ok is (
        abs(found.figures["difference_wh"]) <= found.figures["tolerance_wh"]
    )


@given(st.floats(0, 0.5), st.floats(0, 0.5))
def test_what_is_further_off_never_passes_where_the_nearer_fails(
    reading: Any,
    measurement: Any,
    one: float,
    other: float,
) -> None:
    readings = [reading(float(t)) for t in range(601)]
    near, far = (
        compared(readings, measurement(end_s=600.0, integrator_wh=SOUND_WH * (1 - off)))
        for off in sorted((one, other))
    )
    assert near.ok or not far.ok


@given(st.integers(0, 500), st.integers(0, 500))
def test_a_longer_gap_never_narrows_the_tolerance(
    reading: Any,
    measurement: Any,
    one: int,
    other: int,
) -> None:
    def tolerance_wh(gap: int) -> float:
        seconds = [t for t in range(601) if not 50 < t < 50 + gap]
        readings = [
            reading(float(t), power_w=2.0 if t % 10 < 5 else 9.0, energy_wh=math.nan)
            for t in seconds
        ]
        # The readings before and after are there in any case, so that all powers are known.
        return float(
            compared(readings, measurement(end_s=600.0, integrator_wh=9.0)).figures[
                "tolerance_wh"
            ]
        )

    shorter, longer = sorted((one, other))
    assert tolerance_wh(shorter) <= tolerance_wh(longer) + 1e-12


@given(
    st.sampled_from([0.1, 0.25, 0.5, 1.0, 2.0]),
    st.sampled_from([0.1, 0.25, 0.5, 1.0, 2.0]),
)
def test_slower_updates_never_narrow_the_tolerance(
    reading: Any,
    measurement: Any,
    one: float,
    other: float,
) -> None:
    readings = [reading(float(t)) for t in range(601)]

    def tolerance_wh(interval_s: float) -> float:
        measured = measurement(
            {"update_interval_s": interval_s},
            end_s=600.0,
            integrator_wh=SOUND_WH,
        )
        return float(compared(readings, measured).figures["tolerance_wh"])

    assert tolerance_wh(min(one, other)) <= tolerance_wh(max(one, other))


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_missing_integral_fails_the_comparison(
    reading: Any,
    measurement: Any,
    wrong: float,
) -> None:
    found = compared([reading(1.0)], measurement(integrator_wh=wrong))
    assert not found.ok
    assert found.figures["integrator_wh"] is None


def test_readings_without_power_fail_the_comparison(
    reading: Any,
    measurement: Any,
) -> None:
    found = compared([reading(1.0, power_w=math.nan)], measurement())
    assert not found.ok
    assert "no reading of the run carries a power" in found.sentence


@pytest.mark.parametrize(
    ("integrator_s", "ok"),
    [
        (8.0, True),
        (10.0, True),
        (12.0, True),
        (7.0, False),
        (13.0, False),
        (math.nan, False),
    ],
)
def test_integrator_time_may_differ_by_its_resolution_and_the_commands(
    reading: Any,
    measurement: Any,
    checks: Any,
    integrator_s: float,
    ok: bool,
) -> None:
    assert (
        checks([reading(1.0)], measurement(integrator_s=integrator_s))[
            "integrator-time"
        ].ok
        is ok
    )


@given(st.integers(0, 40), st.floats(0.1, 40))
def test_integrator_time_holds_exactly_within_two_seconds(
    measurement: Any,
    checks: Any,
    integrator_s: int,
    end_s: float,
) -> None:
    found = checks([], measurement(integrator_s=float(integrator_s), end_s=end_s))[
        "integrator-time"
    ]
    assert found.ok is (abs(integrator_s - end_s) <= 2.0)


@pytest.mark.parametrize(
    ("start_stop_s", "span_s"),
    [(None, 1.0), (0.3, 0.3), (2.0, 2.0)],
)
def test_what_starting_and_stopping_took_is_allowed_for_at_the_power_of_the_edges(
    reading: Any,
    measurement: Any,
    start_stop_s: float | None,
    span_s: float,
) -> None:
    readings = [
        reading(float(t), power_w=60.0 if t == 300 else 6.0) for t in range(601)
    ]
    found = compared(
        readings,
        measurement(
            end_s=600.0,
            integrator_wh=SOUND_WH,
            start_stop_s=start_stop_s,
        ),
    ).figures
    exact = compared(
        readings,
        measurement(
            end_s=600.0,
            integrator_wh=SOUND_WH,
            start_stop_s=0.0,
        ),
    ).figures
    assert found["tolerance_wh"] - exact["tolerance_wh"] == pytest.approx(
        6.0 * span_s / 3600
    )


@given(
    st.floats(2.0, 30.0),
    st.sampled_from([0.1, 0.25, 0.5]),
    st.floats(0.0, 0.5),
    st.floats(0.0, 0.5),
    st.booleans(),
)
def test_an_honest_run_agrees_however_short_it_is_and_however_late_its_start_is_confirmed(
    reading: Any,
    measurement: Any,
    length_s: float,
    interval_s: float,
    lead_s: float,
    lag_s: float,
    is_measured: bool,
) -> None:
    # The window begins when the start is confirmed, and ends before the stop.
    updates = int((length_s + lag_s) / interval_s)
    readings = [
        reading(interval_s * number, power_w=36.0) for number in range(1, updates + 1)
    ]
    measured = measurement(
        {"update_interval_s": interval_s, "current_range_a": 0.5},
        end_s=length_s,
        integrator_wh=36.0 * (lead_s + length_s + lag_s) / 3600,
        start_stop_s=lead_s + lag_s if is_measured else None,
    )
    assert compared(readings, measured).ok


@settings(max_examples=8)
@given(
    st.floats(3.0, 40.0),
    st.sampled_from([-0.01, 0.01]),
    st.sampled_from([0.1, 0.25, 0.5]),
)
def test_one_percent_too_much_or_too_little_in_ten_minutes_is_found(
    reading: Any,
    measurement: Any,
    power_w: float,
    wrong: float,
    interval_s: float,
) -> None:
    readings = [
        reading(interval_s * number, power_w=power_w)
        for number in range(int(600 / interval_s) + 1)
    ]
    measured = measurement(
        {"update_interval_s": interval_s},
        end_s=600.0,
        integrator_wh=power_w / 6 * (1.0 + wrong),
    )
    assert not compared(readings, measured).ok


@pytest.mark.parametrize("off", [0.0, 0.004, 0.02])
def test_the_sentence_names_difference_and_tolerance(
    reading: Any,
    measurement: Any,
    off: float,
) -> None:
    readings = [reading(float(t)) for t in range(601)]
    found = compared(
        readings,
        measurement(
            end_s=600.0,
            integrator_wh=SOUND_WH * (1 + off),
            start_stop_s=0.0,
        ),
    )
    apart, allowed = (
        f"{abs(found.figures[name]):.3g} Wh"
        for name in ("difference_wh", "tolerance_wh")
    )
    assert found.sentence.endswith(
        f"The difference is {apart}; {'' if found.ok else 'only '}{allowed} are allowed."
    )
    assert found.ok is (off < 0.01)


@pytest.mark.parametrize(
    ("integrator_s", "words"),
    [
        (35.0, "the energy includes 29 s outside the window."),
        (2.0, "the energy of 4 s of the window is missing."),
        (math.nan, "the time that the energy covers is unknown."),
        (6.0, "at most 2 s apart."),
    ],
)
def test_an_integrator_that_ran_on_or_too_short_is_told_with_what_its_energy_covers(
    measurement: Any,
    checks: Any,
    integrator_s: float,
    words: str,
) -> None:
    found = checks([], measurement(integrator_s=integrator_s, end_s=5.756))[
        "integrator-time"
    ]
    assert found.sentence.endswith(f"the window lasted 5.756 s; {words}")


@given(
    st.lists(
        st.tuples(st.floats(2.0, 9.0), st.lists(st.floats(0.0, 1.0), max_size=4)),
        min_size=2,
    )
)
def test_updates_that_were_missed_spoil_no_honest_run_if_their_power_was_between_those_around_them(
    reading: Any,
    measurement: Any,
    updates: list[tuple[float, list[float]]],
) -> None:
    powers_w = []
    read = []
    for (before_w, missed), (after_w, _) in pairwise([*updates, updates[-1]]):
        powers_w.append(before_w)
        read.append(reading(0.1 * len(powers_w), power_w=before_w))
        powers_w += [before_w + share * (after_w - before_w) for share in missed]
    powers_w.append(updates[-1][0])
    read.append(reading(0.1 * len(powers_w), power_w=powers_w[-1]))
    measured = measurement(
        {"update_interval_s": 0.1},
        end_s=0.1 * len(powers_w),
        integrator_wh=math.fsum(powers_w) * 0.1 / 3600,
        start_stop_s=0.0,
    )
    assert compared(read, measured).ok


def stepped(
    reading: Any,
    seconds: float = 600.0,
) -> list[Reading]:
    """2 W and 9 W in turn, five seconds each, ten updates a second."""
    numbers = range(1, round(10 * seconds) + 1)
    return [
        reading(0.1 * one, power_w=2.0 if (one - 1) // 50 % 2 == 0 else 9.0)
        for one in numbers
    ]


@pytest.mark.parametrize("every", [2, 10])
@pytest.mark.parametrize("wrong", [-0.15, -0.05, 0.0, 0.05])
def test_missed_updates_hide_no_energy_that_is_five_percent_off(
    reading: Any,
    measurement: Any,
    every: int,
    wrong: float,
) -> None:
    read = [one for number, one in enumerate(stepped(reading), 1) if number % every]
    measured = measurement(
        {"update_interval_s": 0.1},
        end_s=600.0,
        integrator_wh=5.5 / 6 * (1 + wrong),
        start_stop_s=0.0,
    )
    assert compared(read, measured).ok is (wrong == 0.0)


@pytest.mark.parametrize("shown", ["nothing", "no data"])
@pytest.mark.parametrize(("wrong", "ok"), [(0.0, True), (0.2, False)])
def test_a_burst_that_no_reading_shows_spoils_no_honest_run(
    reading: Any,
    measurement: Any,
    shown: str,
    wrong: float,
    ok: bool,
) -> None:
    # 9 W in the first ten seconds, and in thirty seconds more of which no power was read.
    # Nor does WH of that time tell.
    readings = [
        reading(float(t), power_w=9.0 if t <= 10 else 2.0, energy_wh=math.nan)
        for t in range(1, 601)
    ]
    if shown == "no data":
        read = [
            replace(one, power_w=math.nan) if 100 < one.monotonic_s <= 130 else one
            for one in readings
        ]
    else:
        read = [one for one in readings if not 100 < one.monotonic_s <= 130]
    true_wh = (9.0 * 40 + 2.0 * 560) / 3600
    found = compared(
        read,
        measurement(
            end_s=600.0,
            integrator_wh=true_wh * (1 + wrong),
            start_stop_s=0.0,
        ),
    )
    assert found.ok is ok
