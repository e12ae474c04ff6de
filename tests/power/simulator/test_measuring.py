from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from power.simulator.instrument import Instrument
from power.simulator.loads import parse_load

VALUES = ":NUMERIC:NORMAL:NUMBER 5;ITEM1 U;ITEM2 I;ITEM3 P;ITEM4 WH;ITEM5 TIME"


def test_values_come_with_the_first_update(meter: Any, clock: Any) -> None:
    box = meter()
    box.execute(VALUES)
    assert box.execute(":NUMERIC:VALUE?") == "NAN,NAN,NAN,0.00000E+00,0"
    clock.pass_s(0.25)
    assert box.execute(":NUMERIC:VALUE?") == "120.00E+00,300.00E-03,36.000E+00,0.00000E+00,0"


def test_just_after_the_start_there_is_no_data(meter: Any, clock: Any) -> None:
    box = meter()
    box.execute(VALUES)
    clock.pass_s(1.1)
    box.execute(":INTEGRATE:START")
    assert box.execute(":NUMERIC:VALUE?") == "NAN,NAN,NAN,0.00000E+00,0"


def test_the_integral_is_power_times_time(meter: Any, clock: Any) -> None:
    box = meter()
    box.execute(VALUES)
    clock.pass_s(0.6)
    box.execute(":INTEGRATE:START")
    clock.pass_s(10.1)
    box.execute(":INTEGRATE:STOP")
    clock.pass_s(60)
    assert box.execute(":NUMERIC:VALUE? 4;VALUE? 5") == "101.000E-03;10"
    assert box.execute(":INTEGRATE:STATE?") == "STOP"


def test_the_timer_ends_integration_exactly(meter: Any, clock: Any) -> None:
    box = meter()
    box.execute(VALUES + ";:INTEGRATE:TIMER 0,0,7;START")
    clock.pass_s(6.9)
    assert box.execute(":INTEGRATE:STATE?;:STATUS:CONDITION?") == "START;6"
    clock.pass_s(100)
    assert box.execute(":INTEGRATE:STATE?;:STATUS:CONDITION?") == "TIMEUP;0"
    assert box.execute(":NUMERIC:VALUE? 4;VALUE? 5") == "70.0000E-03;7"


def test_continuous_integration_begins_again_at_the_timer(meter: Any, clock: Any) -> None:
    box = meter()
    box.execute(VALUES + ";:INTEGRATE:MODE CONTINUOUS;TIMER 0,0,10;START")
    clock.pass_s(25)
    assert box.execute(":INTEGRATE:STATE?;:NUMERIC:VALUE? 5") == "START;5"


def test_a_stopped_integral_goes_on_and_a_reset_clears_it(meter: Any, clock: Any) -> None:
    box = meter()
    box.execute(VALUES)
    for _ in range(2):
        box.execute(":INTEGRATE:START")
        clock.pass_s(5)
        box.execute(":INTEGRATE:STOP")
        clock.pass_s(5)
    assert box.execute(":NUMERIC:VALUE? 4;VALUE? 5") == "100.000E-03;10"
    box.execute(":INTEGRATE:RESET")
    assert box.execute(":NUMERIC:VALUE? 4;VALUE? 5;:INTEGRATE:STATE?") == "0.00000E+00;0;RESET"


@settings(max_examples=40)
@given(st.lists(st.floats(0.001, 3.0), min_size=1, max_size=30), st.sampled_from(["0.1", "0.25", "0.5", "1"]))
def test_the_integral_does_not_depend_on_when_anyone_asks(naps: list[float], rate: str) -> None:
    now = [0.0]
    box = Instrument(parse_load("steps:2W@1.3s,9W@2.1s", lambda: now[0]), lambda: now[0])
    box.execute(f":RATE {rate};:INTEGRATE:START")
    for nap in naps:
        now[0] += nap
        box.tick()
    box.execute(":INTEGRATE:STOP")
    rounds, rest = divmod(now[0], 2.1)
    joules = rounds * (2.6 + 7.2) + 2 * min(rest, 1.3) + 9 * max(rest - 1.3, 0)
    assert box.state.measuring.energy_wh * 3600 == pytest.approx(joules, rel=1e-9, abs=1e-9)


def test_a_fixed_range_is_over_above_140_percent(meter: Any, clock: Any) -> None:
    box = meter("constant:36W")  # 0.3 A
    box.execute(VALUES + ";:INPUT:CURRENT:RANGE 200MA")
    clock.pass_s(1)
    assert box.execute(":NUMERIC:VALUE? 2;VALUE? 3;:STATUS:CONDITION?") == "INF;INF;64"
    box.execute(":INPUT:CURRENT:RANGE 500MA")
    clock.pass_s(1)
    assert box.execute(":NUMERIC:VALUE? 2;VALUE? 3;:STATUS:CONDITION?") == "300.00E-03;36.000E+00;0"


def test_below_half_a_percent_of_range_is_zero(meter: Any, clock: Any) -> None:
    box = meter("constant:12W")  # 0.1 A
    box.execute(VALUES + ";:INPUT:CURRENT:RANGE 20A")
    clock.pass_s(1)
    assert box.execute(":NUMERIC:VALUE? 2;VALUE? 3") == "100.00E-03;12.000E+00"
    box = meter("constant:11W")
    box.execute(VALUES + ";:INPUT:CURRENT:RANGE 20A")
    clock.pass_s(1)
    assert box.execute(":NUMERIC:VALUE? 2;VALUE? 3") == "0.0000E+00;0.0000E+00"


def test_clipped_peaks_only_show_in_the_condition_register(meter: Any, clock: Any) -> None:
    box = meter("constant:36W,crest=6")  # 1.8 A at the peak
    box.execute(VALUES + ";:INPUT:CURRENT:RANGE 0.5")  # clips at 1.5 A
    clock.pass_s(1)
    assert box.execute(":NUMERIC:VALUE? 3;:STATUS:CONDITION?") == "30.000E+00;256"


def test_auto_range_follows_the_load(meter: Any, clock: Any) -> None:
    box = meter("constant:36W")
    box.execute(":INPUT:CURRENT:AUTO ON;:INPUT:VOLTAGE:AUTO ON")
    clock.pass_s(1)
    assert box.execute(":INPUT:CURRENT:RANGE?;:INPUT:VOLTAGE:RANGE?") == "500.0E-03;150.0E+00"


def test_crest_factor_six_halves_the_ranges_and_forces_the_largest(meter: Any) -> None:
    box = meter()
    box.execute(":INPUT:CURRENT:RANGE 1;:INPUT:CFACTOR 6")
    assert box.execute(":INPUT:CURRENT:RANGE?;:INPUT:VOLTAGE:RANGE?") == "10.000E+00;300.0E+00"


def test_each_update_raises_its_filtered_event_once(meter: Any, clock: Any) -> None:
    box = meter()
    box.execute(":STATUS:FILTER1 FALL")
    assert box.execute(":STATUS:EESR?") == "0"
    clock.pass_s(0.25)
    assert box.execute(":STATUS:EESR?;EESR?") == "1;0"
