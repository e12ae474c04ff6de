from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from lpirc_power.energy.continuity import (
    EnergyLoss,
    held,
    loss_between,
    restarted,
    why_lost,
)
from lpirc_power.meter import IntegratorState, Reading

STOP = IntegratorState.STOP
RESET = IntegratorState.RESET


@pytest.fixture
def run(reading: Any) -> Any:
    """Return readings of 6 W from 100 s on, as an integrator of whole seconds shows them."""

    def make(*times_s: float) -> list[Reading]:
        return [
            reading(
                100.0 + at_s,
                energy_wh=6.0 * at_s / 3600.0,
                integrator_s=float(int(at_s)),
            )
            for at_s in times_s
        ]

    return make


def test_an_integral_that_only_grows_is_our_own(
    run: Any,
    reading: Any,
) -> None:
    readings = run(0.1, 0.9, 2.0, 2.9)
    assert why_lost(readings, 100.0) is None
    unread = reading(101.5, energy_wh=math.nan, integrator_s=math.nan)
    assert why_lost([*readings[:2], unread, *readings[2:]], 100.0) is None


def test_a_source_counts_backwards_and_is_our_own(reading: Any) -> None:
    readings = [
        reading(
            100.0 + at,
            power_w=-6.0,
            energy_wh=-0.1 * at,
            integrator_s=at,
        )
        for at in (1.0, 2.0)
    ]
    assert why_lost(readings, 100.0) is None


@pytest.mark.parametrize(
    ("final", "said"),
    [
        ({"state": RESET}, "was reset, or it was switched off"),
        ({"energy_wh": math.nan}, "nan Wh"),
        ({"energy_wh": 0.1, "integrator_s": math.inf}, "inf s"),
        (
            {
                "energy_wh": 0.1,
                "integrator_s": 1.0,
                "state": STOP,
            },
            "started again",
        ),
        (
            {
                "energy_wh": 0.001,
                "integrator_s": 3.0,
                "state": STOP,
            },
            "started again",
        ),
        (
            {
                "energy_wh": 0.1,
                "integrator_s": 60.0,
                "state": STOP,
            },
            "was started before",
        ),
    ],
)
def test_what_the_last_reading_shows_of_a_foreign_integral(
    run: Any,
    reading: Any,
    final: dict[str, Any],
    said: str,
) -> None:
    lost = why_lost([*run(1.0, 2.0, 3.0), reading(104.0, **final)], 100.0)
    assert lost is not None
    assert said in lost


def test_a_reset_in_the_first_second_is_seen_by_its_state(
    run: Any,
    reading: Any,
) -> None:
    readings = [reading(100.1), reading(100.3, state=RESET), reading(100.5)]
    assert "started again" in str(why_lost([*readings, *run(0.9)], 100.0))


def test_a_reset_in_the_first_second_of_a_source_is_seen_by_its_state_only(
    reading: Any,
) -> None:
    def first(at_s: float, **different: Any) -> Reading:
        return reading(
            100.0 + at_s,
            **(
                {
                    "power_w": -6.0,
                    "energy_wh": 0.0,
                    "integrator_s": 0.0,
                }
                | different
            ),
        )

    reset = first(0.3, state=RESET)
    assert restarted(first(0.1), reset)
    assert not restarted(reset, first(0.4, state=RESET))
    assert not restarted(reset, first(0.5))


def test_a_reading_that_lacks_one_of_the_sums_tells_nothing(
    run: Any,
    reading: Any,
) -> None:
    lacking = [
        reading(102.3, energy_wh=math.nan, integrator_s=0.0),
        reading(102.5, energy_wh=0.0, integrator_s=math.nan),
    ]
    assert why_lost([*run(0.1, 2.0), *lacking, *run(2.9)], 100.0) is None


@pytest.mark.parametrize(("integrator_s", "lost"), [(3.0, False), (3.5, True)])
def test_time_may_be_ahead_of_the_recording_by_two_seconds(
    reading: Any,
    integrator_s: float,
    lost: bool,
) -> None:
    readings = [reading(101.0, energy_wh=0.01, integrator_s=integrator_s)]
    assert (why_lost(readings, 100.0) is not None) is lost


@pytest.mark.parametrize(
    ("powers_w", "energy_wh", "again"),
    [
        ((6.0, 6.0), 0.5, False),
        ((6.0, 6.0), 0.49, True),
        ((0.5, 0.0), 0.49, True),
        ((0.0, 0.5), 0.49, True),
        ((-6.0, 6.0), 0.49, False),
        ((6.0, -6.0), 0.49, False),
    ],
)
def test_energy_that_falls_below_its_half_began_again_unless_a_power_is_negative(
    reading: Any,
    powers_w: tuple[float, float],
    energy_wh: float,
    again: bool,
) -> None:
    before = reading(100.0, energy_wh=1.0, power_w=powers_w[0])
    assert (
        restarted(before, reading(101.0, energy_wh=energy_wh, power_w=powers_w[1]))
        is again
    )


@pytest.mark.parametrize(
    ("pause_s", "count", "stood"),
    [
        (0.25, 5, False),
        (1.0, 4, False),
        (1.0, 5, True),
    ],
)
def test_time_is_held_only_if_it_stood_for_more_than_three_seconds(
    reading: Any,
    pause_s: float,
    count: int,
    stood: bool,
) -> None:
    standing = [
        reading(10.0 + pause_s * place, integrator_s=2.0) for place in range(count)
    ]
    assert (
        held(standing, reading(20.0, integrator_s=2.0, state=STOP)) is not None
    ) is stood


def test_values_are_held_if_time_stood_still_while_the_integrator_ran_and_after_its_stop(
    reading: Any,
) -> None:
    moving = [reading(at_s, integrator_s=float(int(at_s))) for at_s in (0.5, 1.5, 2.5)]
    standing = [reading(at_s, integrator_s=2.0) for at_s in (3.5, 4.5, 5.5, 6.0)]
    final = reading(7.0, integrator_s=2.0, state=STOP)
    assert "TIME stood at 2 s" in (held([*moving, *standing], final) or "")
    assert (
        held([*moving, *standing], reading(7.0, integrator_s=7.0, state=STOP)) is None
    )
    assert held(moving, final) is None
    ended = reading(6.0, integrator_s=2.0, state=IntegratorState.TIMEUP)
    assert "TIME stood at 2 s" in (held([*moving, *standing, ended], final) or "")
    stopped = [
        reading(at_s, integrator_s=2.0, state=STOP) for at_s in (3.5, 4.5, 5.5, 6.0)
    ]
    assert held([*moving, *stopped], final) is None
    assert held([*moving, reading(60.0, integrator_s=2.0)], final) is None, (
        "one pause proves nothing"
    )
    assert held([], final) is None


def test_a_timer_that_ends_within_an_update_before_the_window_does_is_no_fault(
    reading: Any,
    measurement: Any,
    checks: Any,
) -> None:
    # The meter began a quarter of a second before it had confirmed its start, which opened the window.
    early_s = 0.26
    times_s = [place / 10 for place in range(100)]
    readings = [
        reading(
            at_s,
            energy_wh=6.0 * min(at_s + early_s, 10.0) / 3600,
            integrator_s=float(int(at_s + early_s)),
        )
        for at_s in times_s
    ]
    measured = measurement(setup={"update_interval_s": 0.1}, start_stop_s=early_s)
    assert checks(readings, measured)["integrator-steps"].ok
    # One that ends a second early is.
    stood = [
        replace(one, energy_wh=min(one.energy_wh, 6.0 * 9 / 3600)) for one in readings
    ]
    short = replace(measured, integrator_wh=6.0 * 9 / 3600)
    assert not checks(stood, short)["integrator-steps"].ok


@pytest.mark.parametrize(
    ("after", "loss"),
    [
        ({"energy_wh": 0.02, "integrator_s": 4.0}, None),
        (
            {
                "energy_wh": 0.02,
                "integrator_s": 4.0,
                "state": STOP,
            },
            None,
        ),
        ({"energy_wh": math.nan, "integrator_s": math.nan}, None),
        (
            {
                "energy_wh": 0.0,
                "integrator_s": 0.0,
                "state": RESET,
            },
            EnergyLoss.RESET,
        ),
        ({"energy_wh": 0.001, "integrator_s": 1.0}, EnergyLoss.BEGAN_AGAIN),
        (
            {
                "energy_wh": 0.02,
                "integrator_s": 3.0,
                "state": IntegratorState.ERROR,
            },
            EnergyLoss.CUT_SHORT,
        ),
    ],
)
def test_how_a_started_meter_has_lost_energy_shows_in_two_readings(
    reading: Any,
    after: dict[str, Any],
    loss: EnergyLoss | None,
) -> None:
    before = reading(103.0, energy_wh=0.015, integrator_s=3.0)
    assert loss_between(before, reading(104.0, **after)) is loss


def test_a_started_meter_that_is_reset_has_lost_its_energy_whatever_was_read_before(
    reading: Any,
) -> None:
    reset = reading(
        101.0,
        energy_wh=0.0,
        integrator_s=0.0,
        state=RESET,
    )
    assert loss_between(None, reset) is EnergyLoss.RESET
    assert (
        loss_between(reset, reading(102.0, integrator_s=1.0)) is EnergyLoss.BEGAN_AGAIN
    )
    assert loss_between(None, reading(101.0, integrator_s=1.0)) is None
