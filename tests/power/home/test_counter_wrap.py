"""A counter that is full begins at 0: the energy goes on, and a restart is still one."""

from __future__ import annotations

import math

import pytest

from lpirc_power.home.counter_wrap import Wrap
from lpirc_power.home.meter import Integrator, Sample
from lpirc_power.meter import IntegratorState

WRAP = Wrap(at_wh=1000.0, most_w=2300.0)


def counted(
    *shown_wh: float,
    wrap: Wrap | None = WRAP,
    each_s: float = 1.0,
    power_w: float = 36.0,
) -> Integrator:
    integrator = Integrator(wrap)
    integrator.reset(0.0)
    first, *others = (
        Sample(wh, number * each_s, power_w) for number, wh in enumerate(shown_wh)
    )
    integrator.start(first)
    for sample in others:
        integrator.advance(sample)
    return integrator


def test_over_a_wrap_the_energy_goes_on() -> None:
    found = counted(999.98, 999.99, 0.01, 0.02)
    assert found.state is IntegratorState.START
    assert found.energy_wh == pytest.approx(0.04)
    assert found.running_s == 3.0


def test_over_two_wraps_too() -> None:
    found = counted(999.0, 0.5, 400.0, 800.0, 1.0, each_s=3600.0, power_w=400.0)
    assert found.energy_wh == pytest.approx(1002.0)


def test_without_a_wrap_the_same_fall_is_a_restart() -> None:
    found = counted(999.98, 999.99, 0.01, wrap=None)
    assert found.state is IntegratorState.ERROR
    assert found.energy_wh == pytest.approx(0.01)


@pytest.mark.parametrize("before_wh", [5.0, 400.0, 600.0, 990.0])
def test_a_restart_is_no_wrap_where_the_device_cannot_have_measured_the_rest(
    before_wh: float,
) -> None:
    assert counted(before_wh, 0.0).state is IntegratorState.ERROR


def from_full(left_s: float, wrap: Wrap, power_w: float = 36.0) -> Integrator:
    """Return the integral of a counter that is restarted so long before it is full; looks are 0.25 s apart."""
    full_wh = wrap.at_wh - left_s * 36.0 / 3600.0
    integrator = Integrator(wrap)
    integrator.reset(0.0)
    integrator.start(Sample(full_wh - 0.0075, 0.0, power_w))
    for number in (1, 2, 3):
        at_s = number / 4.0
        integrator.advance(Sample(full_wh - 0.0075 + 0.01 * at_s, at_s, power_w))
    integrator.advance(Sample(0.0, 1.6, power_w))
    return integrator


@pytest.mark.parametrize("left_s", [6.0, 90.0, 138.0])
def test_a_restart_that_the_device_could_have_measured_but_the_load_not_is_seen(
    left_s: float,
) -> None:
    """10 s at 500 W are 139 s of a load of 36 W."""
    found = from_full(left_s, Wrap(at_wh=100.0, most_w=500.0))
    assert found.state is IntegratorState.ERROR
    assert found.energy_wh == pytest.approx(0.0075)


def test_a_restart_in_the_last_seconds_is_taken_for_a_wrap_and_costs_no_more() -> None:
    found = from_full(2.0, Wrap(at_wh=100.0, most_w=500.0))
    assert found.state is IntegratorState.START
    assert found.energy_wh == pytest.approx(0.0275)


def test_without_a_power_the_limit_is_that_of_the_device() -> None:
    found = from_full(90.0, Wrap(at_wh=100.0, most_w=500.0), power_w=math.nan)
    assert found.state is IntegratorState.START


def test_a_counter_of_coarse_steps_may_wrap_by_a_whole_step() -> None:
    """36 W and steps of 1 Wh: it moves each 100 s, which is looked for each second."""
    integrator = Integrator(WRAP)
    integrator.reset(0.0)
    integrator.start(Sample(997.0, 0.0, 36.0))
    for second in range(1, 501):
        counted_wh = 997.0 + second // 100
        integrator.advance(Sample(counted_wh % 1000.0, float(second), 36.0))
    assert integrator.state is IntegratorState.START
    assert integrator.energy_wh == pytest.approx(5.0)


def test_a_load_that_rises_between_two_looks_may_wrap() -> None:
    integrator = Integrator(WRAP)
    integrator.reset(0.0)
    integrator.start(Sample(999.97, 0.0, 2.0))
    integrator.advance(Sample(999.97 + 2.0 / 3600.0, 1.0, 2.0))
    integrator.advance(Sample(0.2, 2.0, 1000.0))
    assert integrator.state is IntegratorState.START


def test_a_clock_of_the_device_that_falls_is_a_restart_even_at_the_end_of_the_counter() -> (
    None
):
    integrator = Integrator(WRAP)
    integrator.reset(0.0)
    integrator.start(Sample(999.99, 5000.0, 36.0))
    integrator.advance(Sample(0.0, 1.0, 36.0))
    assert integrator.state is IntegratorState.ERROR


def test_power_fed_back_through_0_wh_is_counted_backwards() -> None:
    found = counted(0.01, 999.99, power_w=-36.0)
    assert found.energy_wh == pytest.approx(-0.02)


@pytest.mark.parametrize("figures", [(0.0, 1.0), (1.0, -1.0), (math.nan, 1.0)])
def test_a_wrap_of_nothing_is_refused(figures: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="of a Wrap is"):
        Wrap(*figures)
