from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_power.errors import MeterError
from lpirc_power.home.meter import Integrator, Sample
from lpirc_power.meter import IntegratorState


def used(
    wh: float,
    now_s: float,
) -> Sample:
    return Sample(energy_wh=wh, running_s=now_s)


def test_it_counts_only_between_start_and_stop() -> None:
    integrator = Integrator()
    integrator.advance(used(5.0, 1.0))
    assert integrator.state == IntegratorState.RESET
    assert integrator.energy_wh == 0.0
    integrator.start(used(7.0, 2.0))
    integrator.advance(used(8.0, 4.0))
    assert integrator.energy_wh == 1.0
    assert integrator.running_s == 2.0
    integrator.stop(used(9.5, 5.0))
    integrator.advance(used(20.0, 9.0))
    integrator.stop(used(20.0, 9.0))
    assert integrator.state == IntegratorState.STOP
    assert integrator.energy_wh == 2.5
    assert integrator.running_s == 3.0


def test_it_goes_on_after_a_stop_and_forgets_at_a_reset() -> None:
    integrator = Integrator()
    integrator.start(used(0.0, 0.0))
    integrator.stop(used(1.0, 1.0))
    integrator.start(used(9.0, 5.0))
    integrator.stop(used(10.0, 6.0))
    assert integrator.energy_wh == 2.0
    assert integrator.running_s == 2.0
    integrator.reset(0)
    assert integrator.state == IntegratorState.RESET
    assert integrator.energy_wh == 0.0
    assert integrator.running_s == 0.0


def test_its_timer_ends_it_at_the_very_moment() -> None:
    integrator = Integrator()
    integrator.reset(10)
    integrator.start(used(0.0, 0.0))
    integrator.advance(used(8.0, 8.0))
    assert integrator.state is IntegratorState.START
    integrator.advance(used(18.0, 18.0))
    assert integrator.state == IntegratorState.TIMEUP
    assert integrator.energy_wh == 10.0
    assert integrator.running_s == 10.0
    integrator.advance(used(30.0, 20.0))
    assert integrator.energy_wh == 10.0


def test_a_stop_does_not_rewind_the_timer() -> None:
    integrator = Integrator()
    integrator.reset(10)
    integrator.start(used(0.0, 0.0))
    integrator.stop(used(6.0, 6.0))
    integrator.start(used(6.0, 100.0))
    integrator.advance(used(11.0, 105.0))
    assert integrator.state == IntegratorState.TIMEUP
    assert integrator.running_s == 10.0


def test_a_counter_that_begins_anew_ends_it_in_error_with_the_sums_before() -> None:
    integrator = Integrator()
    integrator.start(Sample(7.0, 0.0, power_w=36.0))
    integrator.advance(Sample(8.0, 100.0, power_w=36.0))
    integrator.advance(Sample(0.1, 110.0, power_w=36.0))
    assert integrator.state == IntegratorState.ERROR
    assert (integrator.energy_wh, integrator.running_s) == (1.0, 100.0)
    integrator.stop(Sample(0.2, 120.0, power_w=36.0))
    assert integrator.state == IntegratorState.ERROR
    assert integrator.energy_wh == 1.0


def test_a_load_that_feeds_back_counts_backwards_and_is_no_restart() -> None:
    integrator = Integrator()
    integrator.start(Sample(7.0, 0.0, power_w=1.0))
    integrator.advance(Sample(6.0, 100.0, power_w=-36.0))
    integrator.advance(Sample(5.9, 101.0, power_w=1.0))
    assert integrator.state == IntegratorState.START
    assert integrator.energy_wh == pytest.approx(-1.1)


def test_it_starts_neither_twice_nor_after_its_time() -> None:
    integrator = Integrator()
    integrator.reset(1)
    integrator.start(used(0.0, 0.0))
    for state in (IntegratorState.START, IntegratorState.TIMEUP):
        assert integrator.state is state
        with pytest.raises(MeterError, match=state.value) as caught:
            integrator.start(used(0.0, 0.5))
        assert caught.value.code == "meter-refused"
        integrator.advance(used(0.0, 2.0))


@given(
    st.lists(st.floats(0.001, 100), min_size=1, max_size=20),
    st.floats(0.1, 500),
    st.integers(0, 1000),
)
def test_the_energy_of_a_constant_power_does_not_depend_on_who_looks_when(
    pauses_s: list[float],
    power_w: float,
    timer_s: int,
) -> None:
    integrator = Integrator()
    integrator.reset(timer_s)
    integrator.start(used(0.0, 0.0))
    now_s = 0.0
    for pause_s in pauses_s:
        now_s += pause_s
        integrator.advance(used(power_w * now_s / 3600, now_s))
    expected_s = min(now_s, timer_s or now_s)
    assert integrator.running_s == pytest.approx(expected_s, rel=1e-9)
    assert integrator.energy_wh == pytest.approx(power_w * expected_s / 3600, rel=1e-9)
