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
    found = counted(999.0, 0.5, 400.0, 800.0, 1.0, each_s=3600.0)
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
