"""WH and TIME from reading to reading: where each comparison of `integrator-steps` and `integrator-stopped` ends.

Ten seconds of 6 W from 0 s on, an update each quarter of a second: an update is 1.5 Ws.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lpirc_power.energy import Check, Measurement
from lpirc_power.energy.step_checks import integrator_steps, integrator_stopped
from lpirc_power.meter import IntegratorState, Reading

Make = Callable[..., Any]
UPDATE_S = 0.25
UPDATE_WH = 6.0 * UPDATE_S / 3600
EARLY = 2
MID = 20
LAST = 38
"""Of the readings, the one at 0.75 s, the one at 5.25 s, and the last one. Early, the resolution of WH is finest."""


def exact(
    reading: Make,
    power_w: float = 6.0,
) -> list[Reading]:
    times_s = [UPDATE_S * number for number in range(1, 40)]
    return [
        reading(
            at_s,
            power_w=power_w,
            energy_wh=power_w * at_s / 3600,
            integrator_s=at_s,
        )
        for at_s in times_s
    ]


def moved(
    readings: list[Reading],
    place: int,
    updates: float,
) -> list[Reading]:
    """From `place` on WH is so many updates higher."""
    return [
        replace(one, energy_wh=one.energy_wh + updates * UPDATE_WH)
        if number >= place
        else one
        for number, one in enumerate(readings)
    ]


def steps(
    measurement: Make,
    readings: list[Reading],
    **different: Any,
) -> Check:
    last_wh = readings[-1].energy_wh + readings[-1].power_w * UPDATE_S / 3600
    setup = {"update_interval_s": UPDATE_S, "integrator_timer_s": 60}
    given = {"integrator_wh": last_wh, "start_stop_s": 0.0} | different
    measured: Measurement = measurement(setup | given.pop("setup", {}), **given)
    return integrator_steps(readings, measured)


def test_what_rises_as_it_should_has_no_fault(
    reading: Make,
    measurement: Make,
) -> None:
    found = steps(measurement, exact(reading))
    assert found.ok is True
    assert found.figures == {"faults": 0, "readings": 39}
    assert steps(measurement, exact(reading, -6.0)).ok, "nor has a source"
    assert steps(measurement, exact(reading, 0.0)).ok, "nor has a device that is off"


@pytest.mark.parametrize(
    ("updates", "ok"),
    [
        (2.0, True),
        (2.0001, False),
        (-0.5, True),
        (-0.5001, False),
    ],
)
def test_an_update_rises_by_half_of_what_was_read_to_three_times_that(
    reading: Make,
    measurement: Make,
    updates: float,
    ok: bool,
) -> None:
    assert steps(measurement, moved(exact(reading), EARLY, updates)).ok is ok


def test_a_jump_is_told_with_its_time_and_cost(
    reading: Make,
    measurement: Make,
) -> None:
    found = steps(measurement, moved(exact(reading), MID, 5.0))
    assert found.figures == {
        "faults": 1, "readings": 39, "first_s": 5.25, "cost_wh": pytest.approx(3 * UPDATE_WH),
    }  # fmt: skip
    assert found.severity == "error"
    assert ("the first at 5.2 s" in found.sentence) is True
    fallen = steps(measurement, moved(exact(reading), MID, -2.0)).figures
    assert fallen["cost_wh"] == pytest.approx(4 * UPDATE_WH)


@pytest.mark.parametrize("place", [1, EARLY])
@pytest.mark.parametrize(("power_w", "ok"), [(24.0, True), (24.001, False)])
def test_an_update_may_show_up_to_twice_what_wh_rose_by_around_it(
    reading: Make,
    measurement: Make,
    place: int,
    power_w: float,
    ok: bool,
) -> None:
    readings = exact(reading)
    # Around it WH rises by two updates of 6 W.
    readings[place] = replace(readings[place], power_w=power_w)
    assert steps(measurement, readings).ok is ok


def test_a_power_that_wh_does_not_show_costs_what_wh_lacks_of_it(
    reading: Make,
    measurement: Make,
) -> None:
    readings = exact(reading)
    readings[MID] = replace(readings[MID], power_w=60.0)
    assert steps(measurement, readings).figures["cost_wh"] == pytest.approx(
        (10 - 2) * UPDATE_WH
    )


def test_a_power_over_range_is_left_to_the_check_of_ranges(
    reading: Make,
    measurement: Make,
) -> None:
    readings = exact(reading)
    readings[MID] = replace(readings[MID], power_w=math.inf)
    assert steps(measurement, readings).ok


@pytest.mark.parametrize(("place", "ok"), [(29, False), (30, True)])
def test_a_power_in_the_last_two_seconds_may_be_later_than_the_end_of_wh(
    reading: Make,
    measurement: Make,
    place: int,
    ok: bool,
) -> None:
    readings = exact(reading, 0.0)
    readings[place] = replace(readings[place], power_w=6.0)
    assert steps(measurement, readings).ok is ok


@pytest.mark.parametrize(("place", "ok"), [(36, False), (37, True)])
def test_of_a_power_in_the_last_two_updates_the_timer_may_have_cut_the_energy(
    reading: Make,
    measurement: Make,
    place: int,
    ok: bool,
) -> None:
    readings = exact(reading)
    readings[place] = replace(readings[place], power_w=60.0)
    assert steps(measurement, readings, setup={"integrator_timer_s": 10}).ok is ok


def test_a_low_power_that_is_read_later_excuses_no_rise_that_is_too_small(
    reading: Make,
    measurement: Make,
) -> None:
    readings = moved(exact(reading), MID, -0.6)
    for later, ok in ((1, True), (2, False)):
        changed = [*readings]
        changed[MID + later] = replace(readings[MID + later], power_w=0.0)
        assert steps(measurement, changed).ok is ok


@pytest.mark.parametrize(("pause_s", "known"), [(0.375, True), (0.5, False)])
def test_after_a_missed_update_wh_may_have_risen_by_anything_in_the_ranges(
    reading: Make,
    measurement: Make,
    pause_s: float,
    known: bool,
) -> None:
    def late(updates: float) -> list[Reading]:
        readings = moved(exact(reading), MID, updates)
        before = [one for one in readings if one.monotonic_s <= 5.0]
        after = [
            replace(one, monotonic_s=one.monotonic_s + pause_s - UPDATE_S)
            for one in readings[MID:]
        ]
        return [*before, *after]

    assert steps(measurement, late(3.0)).ok is not known
    assert steps(measurement, late(-0.7)).ok is not known
    assert not steps(measurement, late(40.0)).ok


def test_before_a_pause_the_answer_may_be_late_and_show_more(
    reading: Make,
    measurement: Make,
) -> None:
    paused = [
        one
        for one in moved(exact(reading), MID, 8.0)
        if not 5.25 < one.monotonic_s < 6.25
    ]
    assert steps(measurement, paused).ok


def test_beside_a_reading_without_a_power_nothing_is_known_of_it(
    reading: Make,
    measurement: Make,
) -> None:
    readings = exact(reading)
    readings[MID + 1] = replace(readings[MID + 1], power_w=math.nan)
    assert steps(measurement, moved(readings, MID, 4.0)).ok
    assert not steps(measurement, moved(readings, MID - 6, 4.0)).ok


def test_where_no_power_was_read_a_fall_of_wh_costs_that_by_which_it_fell(
    reading: Make,
    measurement: Make,
) -> None:
    readings = exact(reading)
    for place in (MID - 1, MID):
        readings[place] = replace(readings[place], power_w=math.nan)
    fallen = steps(measurement, moved(readings, MID, -2.0)).figures
    assert fallen["cost_wh"] == pytest.approx(UPDATE_WH)


def test_a_reading_that_lacks_one_of_the_sums_is_left_out(
    reading: Make,
    measurement: Make,
) -> None:
    readings = exact(reading)
    readings[MID] = replace(readings[MID], energy_wh=math.nan)
    readings[MID + 5] = replace(readings[MID + 5], integrator_s=math.nan)
    found = steps(measurement, readings)
    assert found.ok is True
    assert found.figures["readings"] == 37


def test_what_a_stop_leaves_out_is_left_to_the_check_of_stops(
    reading: Make,
    measurement: Make,
) -> None:
    readings = moved(exact(reading), MID, -0.8)
    readings[MID + 1] = replace(readings[MID + 1], state=IntegratorState.STOP)
    assert steps(measurement, readings).ok


@pytest.mark.parametrize(("place", "ok"), [(30, False), (31, True)])
def test_in_the_last_two_seconds_a_small_rise_may_be_the_end(
    reading: Make,
    measurement: Make,
    place: int,
    ok: bool,
) -> None:
    assert steps(measurement, moved(exact(reading), place, -0.7)).ok is ok


def test_the_last_reading_may_not_show_more_than_was_read(
    reading: Make,
    measurement: Make,
) -> None:
    assert not steps(measurement, moved(exact(reading), LAST, 3.0)).ok


@pytest.mark.parametrize(
    ("start_stop_s", "ran_s", "longest_s"),
    [
        (0.0, 10.0, 0.75),
        (0.5, 10.0, 1.25),
        (None, 10.0, 1.75),
        (0.5, 11.0, 2.25),
        (0.5, 9.0, 1.25),
    ],
)
def test_until_the_integrator_stops_wh_may_rise_by_anything_in_the_ranges(
    reading: Make,
    measurement: Make,
    start_stop_s: float | None,
    ran_s: float,
    longest_s: float,
) -> None:
    readings = exact(reading)
    # 150 V x 0.1 A, and twice that at most.
    for part, ok in ((0.99, True), (1.01, False)):
        final_wh = readings[-1].energy_wh + part * 30.0 * longest_s / 3600
        ended = {
            "integrator_wh": final_wh,
            "start_stop_s": start_stop_s,
            "integrator_s": ran_s,
        }
        assert steps(measurement, readings, **ended).ok is ok


@pytest.mark.parametrize(
    ("updates", "ok"),
    [
        (1.0, True),
        (1.0001, False),
        (-2.0, True),
        (-2.0001, False),
    ],
)
def test_a_source_lowers_wh_by_up_to_three_updates_and_never_raises_it(
    reading: Make,
    measurement: Make,
    updates: float,
    ok: bool,
) -> None:
    # Its update is -1.5 Ws: one more of 6 W is none at all.
    assert steps(measurement, moved(exact(reading, -6.0), EARLY, updates)).ok is ok


@pytest.mark.parametrize(
    "ahead_s",
    [0.0, 0.5],
)  # the integrator may have begun before the window
@pytest.mark.parametrize(("lost_s", "ok"), [(1.5, True), (1.51, False)])
def test_time_may_lag_by_its_resolution_two_updates_and_the_clocks(
    reading: Make,
    measurement: Make,
    ahead_s: float,
    lost_s: float,
    ok: bool,
) -> None:
    running = [
        replace(one, integrator_s=one.integrator_s + ahead_s) for one in exact(reading)
    ]
    readings = [
        replace(one, integrator_s=one.integrator_s - lost_s) if place >= MID else one
        for place, one in enumerate(running)
    ]
    assert steps(measurement, readings, integrator_s=10.0).ok is ok


@pytest.mark.parametrize(("ran_s", "ok"), [(4997.0, True), (4996.9, False)])
def test_time_may_lack_a_second_each_for_its_first_update_its_resolution_and_its_clock(
    measurement: Make,
    ran_s: float,
    ok: bool,
) -> None:
    setup = {"update_interval_s": 1.0, "integrator_timer_s": 6000}
    assert (
        integrator_steps([], measurement(setup, end_s=5000.0, integrator_s=ran_s)).ok
        is ok
    )


def test_time_that_is_lost_is_told_once_with_its_cost(
    reading: Make,
    measurement: Make,
) -> None:
    readings = [
        replace(one, integrator_s=one.integrator_s - 3.0) if place >= MID else one
        for place, one in enumerate(exact(reading))
    ]
    found = steps(measurement, readings, integrator_s=7.0)
    lag_s = 3.0 - 1.502
    whole_wh = 40 * UPDATE_WH
    cost_wh = pytest.approx(lag_s * whole_wh / (10 - lag_s))
    assert found.figures == {
        "faults": 1,
        "readings": 39,
        "first_s": 5.25,
        "cost_wh": cost_wh,
    }
    assert "TIME is 1.5 s or more behind" in found.sentence
    stopped = [replace(one, state=IntegratorState.STOP) for one in readings]
    assert steps(measurement, stopped, integrator_s=10.0).ok, (
        "TIME tells of what runs only"
    )


@pytest.mark.parametrize(
    ("ran_s", "timer_s", "ok"),
    [
        (8.75, 60, True),
        (8.7, 60, False),
        (5.0, 6, True),
        (4.7, 6, False),
    ],
)
def test_in_the_end_time_lacks_no_more_than_its_resolution_of_window_or_timer(
    measurement: Make,
    ran_s: float,
    timer_s: int,
    ok: bool,
) -> None:
    ended = {
        "integrator_s": ran_s,
        "integrator_wh": 0.0,
        "setup": {"integrator_timer_s": timer_s},
    }
    measured = measurement(
        {"update_interval_s": UPDATE_S, **ended.pop("setup")},
        **ended,
    )  # type: ignore[dict-item]
    assert integrator_steps([], measured).ok is ok


@pytest.mark.parametrize(
    ("at_s", "ran_s", "timer_s", "runs"),
    [
        (5.0, 9.0, 10, True),
        (5.0, 8.9, 10, False),
        (5.0, 1.0, 1, True),
        (5.0, 5.0, 0, False),
        (8.0, 5.0, 10, True),
        (7.9, 5.0, 10, False),
        (7.9, 5.0, 0, False),
    ],
)
def test_only_its_timer_may_have_ended_an_integrator_and_only_in_its_time_or_at_the_end(
    reading: Make,
    measurement: Make,
    at_s: float,
    ran_s: float,
    timer_s: int,
    runs: bool,
) -> None:
    ended = reading(at_s, integrator_s=ran_s, state=IntegratorState.TIMEUP)
    ok = integrator_stopped([ended], measurement({"integrator_timer_s": timer_s})).ok
    assert ok is runs
