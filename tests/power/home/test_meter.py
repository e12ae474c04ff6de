from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import pytest

from lpirc_power.errors import MeterError
from lpirc_power.home.meter import HomeMeter, Sample
from lpirc_power.meter import (
    UNOFFICIAL,
    Choices,
    Identity,
    IntegratorState,
    Meter,
    Setup,
)
from lpirc_power.meter_standing import counts_by_identity

SETUP = Setup(
    voltage_range_v=150.0,
    current_range_a=1.0,
    update_interval_s=0.1,
    integrator_timer_s=600,
)


@dataclass
class Lamp:
    """A sensor of 36 W from the beginning of time, which counts how often it is looked at."""

    identity: Identity = field(
        default_factory=lambda: Identity(UNOFFICIAL, "lamp", "L1", "1")
    )
    looks: int = 0

    def look(
        self,
        now_s: float,
    ) -> Sample:
        self.looks += 1
        return Sample(
            energy_wh=now_s / 100,
            running_s=now_s,
            power_w=36.0,
        )


@pytest.fixture
def lamp() -> Lamp:
    return Lamp()


@pytest.fixture
def meter(
    lamp: Lamp,
    hand: Any,
) -> Meter:
    return HomeMeter(lamp, hand.clocks())


def test_a_run_measures_from_start_to_stop(
    meter: Meter,
    hand: Any,
) -> None:
    meter.attach()
    meter.configure(SETUP)
    assert meter.state() is IntegratorState.RESET
    hand.passes(5.0)
    meter.start()
    assert meter.state() is IntegratorState.START
    hand.passes(10.0)
    meter.stop()
    hand.passes(3.0)
    meter.stop()
    final = meter.read_final()
    assert final.state is IntegratorState.STOP
    assert final.energy_wh == pytest.approx(0.1)
    assert final.integrator_s == pytest.approx(10.0)
    assert final.power_w == 36.0
    assert math.isnan(final.voltage_v)
    assert final.over_range is False
    assert final.voltage_peak_over is False
    assert final.current_peak_over is False


def test_the_timer_ends_it_when_nobody_looks(
    meter: Meter,
    hand: Any,
) -> None:
    meter.configure(Setup(None, None, 0.1, 20))
    meter.start()
    hand.passes(100.0)
    assert meter.state() is IntegratorState.TIMEUP
    assert meter.read_final().energy_wh == pytest.approx(0.2)


def test_an_update_is_new_once_and_the_sensor_is_looked_at_once(
    meter: Meter,
    lamp: Lamp,
    hand: Any,
) -> None:
    meter.configure(SETUP)
    first, is_new = meter.read_update()
    assert is_new
    looks = lamp.looks
    hand.passes(0.09)
    assert meter.read_update() == (first, False)
    assert meter.read() is first
    assert lamp.looks == looks
    hand.passes(0.02)
    second, is_new = meter.read_update()
    assert is_new
    assert second.monotonic_s == hand.now_s
    assert meter.read_update() == (second, False)


def test_asking_a_little_late_does_not_slow_the_updates_down(
    meter: Meter,
    hand: Any,
) -> None:
    meter.configure(SETUP)
    meter.start()
    new = 0
    for _ in range(1000):
        hand.passes(0.013)
        new += meter.read_update()[1]
    assert new == pytest.approx(130, abs=1)


def test_after_a_pause_updates_do_not_come_in_a_crowd(
    meter: Meter,
    hand: Any,
) -> None:
    meter.configure(SETUP)
    meter.read_update()
    hand.passes(30.0)
    assert meter.read_update()[1]
    hand.passes(0.05)
    assert not meter.read_update()[1]


def test_what_it_measured_survives_its_link(
    meter: Meter,
    hand: Any,
) -> None:
    meter.configure(SETUP)
    meter.start()
    hand.passes(1.0)
    meter.close()
    meter.close()
    assert meter.state() is IntegratorState.START
    hand.passes(9.0)
    meter.stop()
    assert meter.read_final().energy_wh == pytest.approx(0.1)


def test_a_meter_that_integrates_is_not_set_up(meter: Meter) -> None:
    meter.configure(SETUP)
    meter.start()
    with pytest.raises(MeterError, match="is integrating") as caught:
        meter.configure(SETUP)
    assert caught.value.code == "meter-busy"
    meter.stop()
    meter.configure(SETUP)
    assert meter.read().energy_wh == 0.0


def test_a_setup_for_a_real_meter_is_taken_as_it_is(meter: Meter) -> None:
    setup = Setup(150.0, 1.0, 0.5, 600, "dc", 6, True, True, "current", "sum")
    meter.configure(setup)
    assert meter.changes(setup) == ()
    assert meter.status().update_interval_s == 0.5
    meter.restore()


def test_it_has_no_settings_to_choose(meter: Meter) -> None:
    assert meter.choices() == Choices((), (), (), ())
    assert math.isnan(meter.peaks().voltage_v)
    assert math.isnan(meter.peaks().current_a)
    status = meter.status()
    assert status.voltage_auto is True
    assert status.current_auto is True
    assert status.mode == "none"
    assert status.errors == ()
    assert math.isnan(status.voltage_range_v)
    with pytest.raises(MeterError, match="no zero level") as caught:
        meter.zero()
    assert caught.value.code == "meter-refused"


def test_elements_beyond_the_first_are_not_there(meter: Meter) -> None:
    with pytest.raises(MeterError, match="has one element") as caught:
        meter.attach("2")
    assert caught.value.code == "meter-range"
    with pytest.raises(MeterError, match="not an element 3"):
        meter.configure(Setup(None, None, 0.1, 0, element="3"))


@pytest.mark.parametrize(
    ("interval_s", "timer_s"),
    [
        (0.0, 0),
        (math.nan, 0),
        (0.005, 0),
        (math.inf, 0),
        (1e10, 0),
        (1.0, -1),
        (1.0, 10**400),
    ],
)
def test_an_interval_or_a_timer_that_cannot_be_is_refused(
    meter: Meter,
    interval_s: float,
    timer_s: int,
) -> None:
    with pytest.raises(MeterError, match=r"must be 0\.01 to 60 s") as caught:
        meter.configure(Setup(None, None, interval_s, timer_s))
    assert caught.value.code == "meter-range"


def test_it_is_never_official(meter: Meter) -> None:
    assert not counts_by_identity(meter.identity)


def test_a_driver_states_how_often_its_sensor_updates(lamp: Lamp, hand: Any) -> None:
    meter = HomeMeter(lamp, hand.clocks(), update_interval_s=0.5)
    assert meter.status().update_interval_s == 0.5
    hand.passes(1.0)
    assert meter.read_update()[1]
    looks = lamp.looks
    hand.passes(0.4)
    assert not meter.read_update()[1]
    hand.passes(0.2)
    assert meter.read_update()[1]
    assert lamp.looks == looks + 1
    meter.configure(SETUP)
    assert meter.status().update_interval_s == SETUP.update_interval_s


@pytest.mark.parametrize(
    "interval_s", [0.0, -1.0, math.nan, math.inf, "0.5", True, None]
)
def test_an_update_interval_that_no_setup_can_have_is_a_fault_of_the_driver(
    lamp: Lamp, hand: Any, interval_s: Any
) -> None:
    with pytest.raises(ValueError, match="update_interval_s is"):
        HomeMeter(lamp, hand.clocks(), update_interval_s=interval_s)
