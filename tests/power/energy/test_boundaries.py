"""Where a condition of a check ends: each of these holds on one side of it, and not on the other."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from lpirc_power.addresses.meter_address import limits_of
from lpirc_power.energy.integral import mean_power_w
from lpirc_power.energy.power_error_limit import uncertainty
from lpirc_power.meter import IntegratorState, Reading, Setup


def evenly(
    reading: Any,
    interval_s: float = 0.25,
    power_w: float = 6.0,
) -> list[Reading]:
    """Ten seconds of one power, a reading for each update."""
    times_s = [interval_s * place for place in range(1, round(10 / interval_s))]
    return [
        reading(at_s, power_w=power_w, energy_wh=power_w * at_s / 3600)
        for at_s in times_s
    ]


@pytest.mark.parametrize(
    ("pause_s", "unseen_ws"),
    [
        (0.375, 0.0),  # 1.5 updates: none was missed
        (0.5, 0.25 * 4.0),  # between 6 W and 10 W, but for the update of the later one
        (0.75, 0.5 * 4.0),
        (1.0, 1.0 * 14.0),  # any power that was read
    ],
)
def test_the_longer_a_pause_the_less_is_known_of_the_power_in_it(
    reading: Any,
    measurement: Any,
    checks: Any,
    pause_s: float,
    unseen_ws: float,
) -> None:
    readings = [
        replace(one, power_w=10.0) if one.monotonic_s > 5.0 else one
        for one in evenly(reading)
    ]
    readings[8] = replace(readings[8], power_w=20.0)
    after = [one for one in readings if one.monotonic_s > 5.0]
    later = [
        reading(5.0 + pause_s, power_w=10.0),
        *(x for x in after if x.monotonic_s > 5.0 + pause_s),
    ]
    measured = measurement({"update_interval_s": 0.25})
    whole, paused = (
        checks([*readings[:20], *some], measured)["integrator-trapezoid"].figures[
            "tolerance_wh"
        ]
        for some in (after, later)
    )
    relative_wh = 0.00501 * 10.0 / 3600  # the sum of the readings differs
    assert paused - whole == pytest.approx(unseen_ws / 3600, abs=relative_wh)


def test_every_long_pause_adds_to_what_was_not_seen(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    readings = evenly(reading)
    readings[8] = replace(readings[8], power_w=20.0)
    measured = measurement({"update_interval_s": 0.25})

    def tolerance_wh(*pauses_s: float) -> float:
        kept = [
            one
            for one in readings
            if not any(at_s < one.monotonic_s < at_s + 1.0 for at_s in pauses_s)
        ]
        return float(
            checks(kept, measured)["integrator-trapezoid"].figures["tolerance_wh"]
        )

    for pauses_s in ((5.0,), (5.0, 7.0)):
        added_wh = tolerance_wh(*pauses_s) - tolerance_wh()
        assert added_wh == pytest.approx(len(pauses_s) * 14.0 / 3600)


def test_a_run_whose_first_update_was_missed_can_be_compared(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    assert checks(evenly(reading)[1:], measurement({"update_interval_s": 0.25}))[
        "integrator-trapezoid"
    ].ok


@pytest.mark.parametrize(
    ("at_s", "near"),
    [
        (1.5, True),
        (1.75, False),
        (8.5, True),
        (8.25, False),
    ],
)
def test_the_edges_of_a_window_are_a_second_and_two_updates_wide(
    reading: Any,
    measurement: Any,
    checks: Any,
    at_s: float,
    near: bool,
) -> None:
    readings = [
        replace(one, power_w=20.0) if one.monotonic_s == at_s else one
        for one in evenly(reading)
    ]
    instant, usual = (
        checks(
            readings,
            measurement({"update_interval_s": 0.25}, start_stop_s=start_stop_s),
        )
        for start_stop_s in (0.0, 1.0)
    )
    allowed = [
        one["integrator-trapezoid"].figures["tolerance_wh"] for one in (instant, usual)
    ]
    assert allowed[1] - allowed[0] == pytest.approx((20.0 if near else 6.0) / 3600)


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_the_first_update_may_hold_only_a_part_of_the_integration(
    reading: Any,
    measurement: Any,
    checks: Any,
    share: float,
) -> None:
    update_wh = 6.0 * 0.25 / 3600
    readings = [
        replace(one, energy_wh=(place + share) * update_wh)
        for place, one in enumerate(evenly(reading))
    ]
    readings = [reading(0.1, energy_wh=0.0), *readings]
    measured = measurement(
        {"update_interval_s": 0.25},
        integrator_wh=(39 + share) * update_wh,
    )
    assert checks(readings, measured)["integrator-steps"].ok


def test_a_wh_that_stands_still_between_the_updates_that_were_read_is_told(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    readings = evenly(reading)[::2]  # every second one was missed
    stood = [
        replace(one, energy_wh=min(one.energy_wh, 6.0 * 5 / 3600)) for one in readings
    ]
    on = [
        replace(one, energy_wh=one.energy_wh - 6.0 * 2 / 3600)
        if one.monotonic_s > 7.0
        else old
        for one, old in zip(readings, stood, strict=True)
    ]
    measured = measurement({"update_interval_s": 0.25}, integrator_wh=6.0 * 8 / 3600)
    assert checks(readings, replace(measured, integrator_wh=6.0 * 10 / 3600))[
        "integrator-steps"
    ].ok
    assert not checks(on, measured)["integrator-steps"].ok


@pytest.mark.parametrize("at_s", [5.0, 9.0])
def test_a_power_that_wh_does_not_show_is_told_in_the_last_seconds_too(
    reading: Any,
    measurement: Any,
    checks: Any,
    at_s: float,
) -> None:
    readings = [
        replace(one, power_w=60.0) if one.monotonic_s == at_s else one
        for one in evenly(reading)
    ]
    # The timer could not have ended it: it is longer.
    measured = measurement({"update_interval_s": 0.25, "integrator_timer_s": 60})
    found = checks(readings, measured)["integrator-steps"]
    assert not found.ok
    assert "a reading of 60 W" in found.sentence


def test_a_stop_costs_what_the_readings_in_it_show_since_those_before_them(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    readings = evenly(reading)
    readings[19] = replace(readings[19], state=IntegratorState.STOP)
    readings[20] = replace(readings[20], state=IntegratorState.STOP, power_w=math.nan)
    readings[21] = replace(readings[21], stopped=True, power_w=12.0)
    found = checks(readings, measurement({"update_interval_s": 0.25}))[
        "integrator-stopped"
    ]
    assert found.figures == {
        "stopped": 3, "readings": 39, "first_s": 5.0, "last_s": 5.5, "missing_wh": pytest.approx(18.0 * 0.25 / 3600),
    }  # fmt: skip
    assert (
        "(STOP, stopped and restarted) in 3 of 39 readings, from 5.0 s to 5.5 s"
        in found.sentence
    )


def test_half_a_second_has_a_mean_power_and_no_time_has_none() -> None:
    assert mean_power_w(0.001, 0.5) == pytest.approx(7.2)
    assert math.isnan(mean_power_w(0.001, 0.0))


@pytest.mark.parametrize("power_w", [0.5, 0.0, -0.5])
def test_a_limit_is_relative_to_any_power_above_nothing_and_to_no_other(
    power_w: float,
) -> None:
    setup = Setup(150.0, 0.1, 0.25, 0)
    limits = limits_of("WT310E")
    found = uncertainty(setup, limits, 120.0, 0.01, power_w, 1.2)
    assert (found is not None) == (power_w > 0)
    assert uncertainty(setup, None, 120.0, 0.01, power_w, 1.2) is None


def test_the_limit_of_a_sum_has_the_ranges_of_all_elements() -> None:
    one, whole = (
        uncertainty(
            Setup(150.0, 0.1, 0.25, 0, element=element),
            limits_of("WT333E"),
            120.0,
            0.05,
            6.0,
            6.0,
        )
        for element in ("1", "sum")
    )
    assert one is not None
    assert whole is not None
    assert (whole - 0.001) == pytest.approx(3 * (one - 0.001))


@pytest.mark.parametrize("wrong", ["nothing", "gap", "stop", "jump", "late", "range"])
def test_no_check_depends_on_when_the_hosts_clock_began(
    reading: Any,
    measurement: Any,
    checks: Any,
    wrong: str,
) -> None:
    readings = evenly(reading)
    if wrong == "gap":
        readings = [one for one in readings if not 3.0 < one.monotonic_s < 7.0]
    elif wrong == "jump":
        readings[20] = replace(readings[20], energy_wh=1.0, power_w=100.0)
    elif wrong == "late":
        readings = [one for one in readings if 4.0 < one.monotonic_s < 9.0]
    elif wrong != "nothing":
        different = {"stopped": True} if wrong == "stop" else {"current_range_a": 1.0}
        readings[20:24] = [replace(one, **different) for one in readings[20:24]]
    measured = measurement({"update_interval_s": 0.25})
    later = [replace(one, monotonic_s=one.monotonic_s + 1024.0) for one in readings]
    found = checks(later, replace(measured, start_s=1024.0, end_s=1034.0))
    assert {code: one.sentence for code, one in found.items()} == {
        code: one.sentence for code, one in checks(readings, measured).items()
    }
