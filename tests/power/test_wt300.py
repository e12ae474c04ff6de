"""The driver in conversation with a simulated meter behind real VXI-11."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import pytest

from power.clocks import Clocks
from power.errors import MeterError
from power.meter import IntegratorState, Setup
from power.models import model_named
from power.transport import Link
from power.wt300 import Wt300

SETUP = Setup(voltage_range_v=150.0, current_range_a=1.0, update_interval_s=0.1, integrator_timer_s=3600)


@pytest.fixture
def box(simulate: Any, clocks: Clocks) -> Iterator[tuple[Wt300, Link]]:
    """A driver, and a second link to look behind its back."""
    address = simulate("--load", "constant:36W").address
    with contextlib.closing(Link(address)) as link, contextlib.closing(Link(address)) as spy:
        yield Wt300(link, clocks), spy


def test_setup_arrives_in_the_meter(box: Any) -> None:
    meter, spy = box
    meter.attach()
    meter.configure(SETUP)
    assert spy.query(":COMMUNICATE:HEADER?;VERBOSE?") == "0;1"
    assert spy.query(":INPUT:MODE?;VOLTAGE:RANGE?;AUTO?") == "RMS;150.0E+00;0"
    assert spy.query(":INPUT:CURRENT:RANGE?;AUTO?;:RATE?") == "1.000E+00;0;100.0E-03"
    assert spy.query(":INTEGRATE:MODE?;TIMER?;STATE?") == "NORMAL;1,0,0;RESET"
    assert spy.query(":NUMERIC:NUMBER?;ITEM6?") == "7;WH,1"
    assert meter.changes(SETUP) == ()
    spy.write(":INPUT:CURRENT:AUTO ON")
    assert meter.changes(SETUP)[0] == ":INPUT:CURRENT:AUTO OFF was set, it is 1"


def test_no_range_means_auto_range(box: Any) -> None:
    meter, spy = box
    meter.attach()
    meter.configure(Setup(None, None, 0.25, 0, mode="dc"))
    assert spy.query(":INPUT:VOLTAGE:AUTO?;:INPUT:CURRENT:AUTO?;:INPUT:MODE?") == "1;1;DC"


@pytest.mark.parametrize(
    ("setup", "named"),
    [
        (Setup(100.0, 1.0, 0.1, 60), "15, 30, 60, 150, 300, 600 V"),
        (Setup(150.0, 3.0, 0.1, 60), "0.005, 0.01, .*, 20 A"),
        (Setup(150.0, 1.0, 0.3, 60), "0.1, 0.25, 0.5, 1, 2, 5 s"),
        (Setup(150.0, 1.0, 0.1, 36_000_001), "36000000"),
        (Setup(150.0, 1.0, 0.1, 60, mode="ac"), "rms, vmean, dc"),
    ],
)
def test_what_the_meter_does_not_have_is_refused_naming_what_it_has(
    box: Any, setup: Setup, named: str
) -> None:
    meter, _ = box
    meter.attach()
    with pytest.raises(MeterError, match=named) as caught:
        meter.configure(setup)
    assert caught.value.code == "meter-range"


def test_crest_factor_six_halves_what_can_be_chosen(box: Any) -> None:
    meter, spy = box
    meter.attach()
    spy.write(":INPUT:CFACTOR 6")
    meter.configure(Setup(7.5, 0.0025, 0.1, 60))
    with pytest.raises(MeterError, match=r"7\.5, 15, 30, 75, 150, 300 V"):
        meter.configure(Setup(600.0, 1.0, 0.1, 60))


def test_a_whole_measurement(box: Any, until: Any) -> None:
    meter, _ = box
    meter.attach()
    meter.configure(SETUP)
    assert meter.state() is IntegratorState.RESET
    meter.start()
    first = meter.read()
    assert first.state is IntegratorState.START
    assert first.utc.tzinfo is not None
    until(lambda: meter.read().integrator_s >= 1)
    running = meter.read()
    assert (running.voltage_v, running.power_w, running.power_factor) == (120.0, 36.0, 1.0)
    assert running.apparent_va == pytest.approx(36.0)
    meter.stop()
    final = meter.read_final()
    assert final.state is IntegratorState.STOP
    assert 36 * final.integrator_s <= final.energy_wh * 3600 <= 36 * (final.integrator_s + 1)
    meter.stop()
    assert meter.read().energy_wh == final.energy_wh


def test_a_start_gives_no_data_until_the_next_update(box: Any) -> None:
    meter, _ = box
    meter.attach()
    meter.configure(Setup(150.0, 1.0, 5.0, 60))
    meter.start()
    reading = meter.read()
    assert math.isnan(reading.voltage_v)
    assert math.isnan(reading.power_w)
    assert reading.energy_wh == 0.0
    assert reading.integrator_s == 0.0


def test_the_timer_of_the_meter_ends_it_and_stop_finds_nothing_to_do(box: Any, until: Any) -> None:
    meter, spy = box
    meter.attach()
    meter.configure(Setup(150.0, 1.0, 0.1, 1))
    meter.start()
    until(lambda: meter.state() is IntegratorState.TIMEUP)
    meter.stop()
    final = meter.read_final()
    assert (final.state, final.integrator_s, final.energy_wh) == (IntegratorState.TIMEUP, 1.0, 0.01)
    assert spy.query(":STATUS:ERROR?").startswith("0,")


def test_a_start_that_is_refused_says_why(box: Any) -> None:
    meter, spy = box
    meter.attach()
    meter.configure(Setup(150.0, 1.0, 0.1, 1))
    spy.write(":INTEGRATE:START;STOP")
    spy.write("*CLS;:INTEGRATE:RESET;TIMER 0,0,1;START")
    assert spy.query(":INTEGRATE:STATE?") == "START"
    # The meter integrates already: the start is refused, but what was wanted is the case.
    meter.start()
    assert spy.query(":STATUS:ERROR?").startswith("842,")


def test_a_meter_that_integrates_is_not_set_up(box: Any) -> None:
    meter, _ = box
    meter.attach()
    meter.start()
    with pytest.raises(MeterError) as caught:
        meter.configure(SETUP)
    assert caught.value.code == "meter-busy"
    assert meter.state() is IntegratorState.START


def test_a_setting_that_does_not_stay_is_refused_with_the_meters_reason(box: Any) -> None:
    from power.wt300 import _Setting

    meter, _ = box
    meter.attach()
    meter.start()
    with pytest.raises(MeterError, match=r"813 .*cannot be changed until the integrator is reset") as caught:
        meter._apply(_Setting(":RATE 1", ":RATE?", 1.0))
    assert caught.value.code == "meter-refused"


def test_attaching_touches_neither_ranges_nor_integrator(box: Any) -> None:
    meter, spy = box
    spy.write(":COMMUNICATE:HEADER OFF;VERBOSE ON;:INPUT:VOLTAGE:RANGE 60;:RATE 1;:INTEGRATE:START")
    meter.attach()
    assert spy.query(":INPUT:VOLTAGE:RANGE?;:RATE?;:INTEGRATE:STATE?") == "60.0E+00;1.000E+00;START"
    assert spy.query(":STATUS:ERROR?").startswith("0,")


def test_readings_tell_over_range_and_clipped_peaks(simulate: Any, clocks: Clocks, until: Any) -> None:
    address = simulate("--load", "constant:36W,crest=6").address
    with contextlib.closing(Link(address)) as link:
        meter = Wt300(link, clocks)
        meter.attach()
        meter.configure(Setup(150.0, 0.5, 0.1, 0))
        until(lambda: meter.read().power_w > 0)
        clipped = meter.read()
        assert (clipped.current_peak_over, clipped.voltage_peak_over, clipped.over_range) == (
            True,
            False,
            False,
        )
        assert clipped.power_w == 30.0
        meter.configure(Setup(150.0, 0.1, 0.1, 0))
        until(lambda: meter.read().over_range)
        assert math.isinf(meter.read().power_w)


def test_status_shows_settings_and_empties_the_error_queue(box: Any) -> None:
    meter, spy = box
    meter.attach()
    meter.configure(SETUP)
    spy.write(":NONSENSE")
    assert spy.query("*OPC?") == "1"
    status = meter.status()
    assert (status.voltage_range_v, status.voltage_auto, status.update_interval_s) == (150.0, False, 0.1)
    assert (status.mode, status.crest_factor, status.state) == ("rms", 3, IntegratorState.RESET)
    assert status.errors == ('113 "Undefined header": it does not know the command',)
    assert meter.status().errors == ()


@pytest.mark.parametrize("name", ["WT310", "WT310E", "wt310eh", "WT332E", "WT333E"])
def test_the_family_is_accepted(name: str) -> None:
    assert model_named(name).currents_a


def test_models_differ_in_their_ranges() -> None:
    assert model_named("WT310EH").currents_a == (1, 2, 5, 10, 20, 40)
    assert model_named("WT333E").currents_a[0] == 0.5
    assert 20.0 in model_named("WT310E").rates_s
    assert 20.0 not in model_named("WT310").rates_s


@pytest.mark.parametrize("name", ["WT210", "WT1800", "PZ4000", ""])
def test_another_model_is_refused(name: str) -> None:
    with pytest.raises(MeterError) as caught:
        model_named(name)
    assert caught.value.code == "meter-wrong-model"
