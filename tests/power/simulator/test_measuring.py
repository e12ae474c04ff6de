from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpirc_power.simulator.instrument import Instrument
from lpirc_power.simulator.loads import parse_load

VALUES = ":NUMERIC:NORMAL:NUMBER 5;ITEM1 U;ITEM2 I;ITEM3 P;ITEM4 WH;ITEM5 TIME"


def test_values_come_with_the_first_update(
    meter: Any,
    clock: Any,
) -> None:
    box = meter()
    box.execute(VALUES)
    assert box.execute(":NUMERIC:VALUE?") == "NAN,NAN,NAN,0.00000E+00,0"
    clock.pass_s(0.25)
    rows = box.execute(":NUMERIC:VALUE?")
    assert rows == "120.00E+00,300.00E-03,36.000E+00,0.00000E+00,0"


def test_just_after_the_start_there_is_no_data(
    meter: Any,
    clock: Any,
) -> None:
    box = meter()
    box.execute(VALUES)
    clock.pass_s(1.1)
    box.execute(":INTEGRATE:START")
    assert box.execute(":NUMERIC:VALUE?") == "NAN,NAN,NAN,0.00000E+00,0"


def test_the_integral_is_power_times_time(
    meter: Any,
    clock: Any,
) -> None:
    box = meter()
    box.execute(VALUES)
    clock.pass_s(0.6)
    box.execute(":INTEGRATE:START")
    clock.pass_s(10.1)
    box.execute(":INTEGRATE:STOP")
    clock.pass_s(60)
    assert box.execute(":NUMERIC:VALUE? 4;VALUE? 5") == "101.000E-03;10"
    assert box.execute(":INTEGRATE:STATE?") == "STOP"


def test_the_timer_ends_integration_exactly(
    meter: Any,
    clock: Any,
) -> None:
    box = meter()
    box.execute(VALUES + ";:INTEGRATE:TIMER 0,0,7;START")
    clock.pass_s(6.9)
    assert box.execute(":INTEGRATE:STATE?;:STATUS:CONDITION?") == "START;6"
    clock.pass_s(100)
    assert box.execute(":INTEGRATE:STATE?;:STATUS:CONDITION?") == "TIMEUP;0"
    assert box.execute(":NUMERIC:VALUE? 4;VALUE? 5") == "70.0000E-03;7"


def test_continuous_integration_begins_again_at_the_timer(
    meter: Any,
    clock: Any,
) -> None:
    box = meter()
    box.execute(VALUES + ";:INTEGRATE:MODE CONTINUOUS;TIMER 0,0,10;START")
    clock.pass_s(25)
    assert box.execute(":INTEGRATE:STATE?;:NUMERIC:VALUE? 5") == "START;5"


def test_a_stopped_integral_goes_on_and_a_reset_clears_it(
    meter: Any,
    clock: Any,
) -> None:
    box = meter()
    box.execute(VALUES)
    for _ in range(2):
        box.execute(":INTEGRATE:START")
        clock.pass_s(5)
        box.execute(":INTEGRATE:STOP")
        clock.pass_s(5)
    assert box.execute(":NUMERIC:VALUE? 4;VALUE? 5") == "100.000E-03;10"
    box.execute(":INTEGRATE:RESET")
    rows = box.execute(":NUMERIC:VALUE? 4;VALUE? 5;:INTEGRATE:STATE?")
    assert rows == "0.00000E+00;0;RESET"


@settings(max_examples=40)
@given(
    st.lists(st.floats(0.001, 3.0), min_size=1, max_size=30),
    st.sampled_from(["0.1", "0.25", "0.5", "1"]),
)
def test_the_integral_does_not_depend_on_when_anyone_asks(
    naps: list[float],
    rate: str,
) -> None:
    now = [0.0]
    box = Instrument(
        parse_load("steps:2W@1.3s,9W@2.1s", lambda: now[0]),
        lambda: now[0],
    )
    box.execute(f":RATE {rate};:INTEGRATE:START")
    for nap in naps:
        now[0] += nap
        box.tick()
    box.execute(":INTEGRATE:STOP")
    rounds, rest = divmod(now[0], 2.1)
    joules = rounds * (2.6 + 7.2) + 2 * min(rest, 1.3) + 9 * max(rest - 1.3, 0)
    assert box.measuring.integrator.plus_wh * 3600 == pytest.approx(
        joules,
        rel=1e-9,
        abs=1e-9,
    )


def test_a_fixed_range_is_over_above_140_percent(
    meter: Any,
    clock: Any,
) -> None:
    box = meter("constant:36W")  # 0.3 A
    box.execute(VALUES + ";:INPUT:CURRENT:RANGE 200MA")
    clock.pass_s(1)
    assert box.execute(":NUMERIC:VALUE? 2;VALUE? 3;:STATUS:CONDITION?") == "INF;INF;64"
    box.execute(":INPUT:CURRENT:RANGE 500MA")
    clock.pass_s(1)
    rows = box.execute(":NUMERIC:VALUE? 2;VALUE? 3;:STATUS:CONDITION?")
    assert rows == "300.00E-03;36.000E+00;0"


def test_what_is_half_a_percent_of_a_range_or_less_is_blanked_and_still_integrated(
    meter: Any,
    clock: Any,
) -> None:
    show = VALUES + ";ITEM4 S;ITEM5 LAMBDA;:INPUT:CURRENT:RANGE 20A;:INTEGRATE:START"
    box = meter("constant:12.1W")
    box.execute(show)
    clock.pass_s(1)
    rows = box.execute(":NUMERIC:VALUE?")
    assert rows == "120.00E+00,100.83E-03,12.100E+00,12.100E+00,1.0000E+00"
    box = meter("constant:12W")  # 0.1 A
    box.execute(show)
    clock.pass_s(1)
    rows = box.execute(":NUMERIC:VALUE?")
    assert rows == "120.00E+00,0.0000E+00,0.0000E+00,0.0000E+00,INF"
    assert box.measuring.integrator.plus_wh * 3600 == pytest.approx(12.0)
    box = meter("constant:12W")
    # 1 % at crest factor 6.
    box.execute(f":INPUT:CFACTOR 6;{VALUES};:INPUT:CURRENT:RANGE 10A")
    clock.pass_s(1)
    assert box.execute(":NUMERIC:VALUE? 2;VALUE? 3") == "0.0000E+00;0.0000E+00"


def test_clipped_peaks_only_show_in_the_condition_register(
    meter: Any,
    clock: Any,
) -> None:
    box = meter("constant:36W,crest=6")  # 1.8 A at the peak
    box.execute(VALUES + ";:INPUT:CURRENT:RANGE 0.5")  # clips at 333 % of it, 1.667 A
    clock.pass_s(1)
    rows = box.execute(":NUMERIC:VALUE? 3;:STATUS:CONDITION?;:INPUT:POVER?;CRANGE?")
    assert rows == "33.333E+00;256;2;0"


@pytest.mark.parametrize(("crest", "clipped"), [(5.5, "0"), (5.6, "2")])
def test_peaks_are_over_above_a_third_more_than_three_times_the_range(
    meter: Any,
    clock: Any,
    crest: float,
    clipped: str,
) -> None:
    box = meter(f"constant:36W,crest={crest}")  # 0.3 A; 1.65 and 1.68 A at the peak
    box.execute(":INPUT:CURRENT:RANGE 0.5")
    clock.pass_s(1)
    assert box.execute(":INPUT:POVER?") == clipped


RANGES = ":INPUT:CURRENT:RANGE?;:INPUT:VOLTAGE:RANGE?"


def test_auto_range_settles_with_the_first_update(
    meter: Any,
    clock: Any,
) -> None:
    box = meter("constant:36W")
    box.execute(VALUES)
    clock.pass_s(0.25)
    rows = box.execute(f"{RANGES};:NUMERIC:VALUE? 3")
    assert rows == "500.0E-03;300.0E+00;36.000E+00"
    clock.pass_s(0.25)
    assert box.execute(":NUMERIC:VALUE? 3") == "36.000E+00"


@pytest.mark.parametrize(
    ("load", "before", "after"),
    [
        ("steps:36W@1s,84W@9s", "500.0E-03", "1.000E+00"),  # 0.7 A is above 130 %
        ("steps:36W@1s,77W@9s", "500.0E-03", "500.0E-03"),  # 0.64 A is below
        (
            "steps:36W@1s,66W@9s,crest=3",
            "500.0E-03",
            "1.000E+00",
        ),  # a peak of 1.65 A is above 300 %
        ("steps:54W@1s,37W@9s", "1.000E+00", "1.000E+00"),  # 0.31 A is above 30 %
        ("steps:54W@1s,35W@9s", "1.000E+00", "500.0E-03"),
    ],
)
def test_auto_range_follows_the_load_and_loses_a_reading(
    meter: Any,
    clock: Any,
    load: str,
    before: str,
    after: str,
) -> None:
    box = meter(load)
    box.execute(VALUES)
    clock.pass_s(1)
    assert box.execute(":INPUT:CURRENT:RANGE?") == before
    clock.pass_s(0.25)
    assert box.execute(":INPUT:CURRENT:RANGE?") == after
    assert box.execute(":NUMERIC:VALUE? 3") != "NAN"
    clock.pass_s(0.25)
    assert (box.execute(":NUMERIC:VALUE? 3") == "NAN") is (before != after)
    clock.pass_s(0.25)
    assert box.execute(":NUMERIC:VALUE? 3;:STATUS:CONDITION?").split(";")[1] == "0"


def test_a_small_range_protects_itself_on_a_wt310e_only(
    meter: Any,
    clock: Any,
) -> None:
    for model, expected in (
        ("WT310E", "1;500.0E-03"),
        ("WT310", "0;200.0E-03"),
    ):
        box = meter("constant:60W", model=model)
        box.execute(":INPUT:CURRENT:RANGE 200MA")
        clock.pass_s(4.9)
        assert box.execute(":INPUT:CURRENT:AUTO?;RANGE?") == "0;200.0E-03"
        clock.pass_s(1)
        assert box.execute(":INPUT:CURRENT:AUTO?;RANGE?").startswith(expected[0])
    box = meter("constant:120W", model="WT310E")  # 1 A
    box.execute(":INPUT:CFACTOR 6;:INPUT:CURRENT:RANGE 100MA;:INPUT:VOLTAGE:RANGE 150V")
    clock.pass_s(5)
    assert box.execute(":INPUT:CURRENT:AUTO?;RANGE?") == "1;500.0E-03"
    clock.pass_s(1)
    assert box.execute(":INPUT:CURRENT:AUTO?;RANGE?") == "1;1.000E+00"


def test_the_largest_range_of_a_wt310eh_reaches_no_further_than_110_percent(
    meter: Any,
    clock: Any,
) -> None:
    box = meter("constant:5400W", model="WT310EH")  # 45 A
    box.execute(VALUES + ";:INPUT:CURRENT:RANGE 40")
    clock.pass_s(1)
    assert box.execute(":NUMERIC:VALUE? 2") == "INF"
    box.execute(":INPUT:CURRENT:RANGE 20")
    clock.pass_s(1)
    assert box.execute(":NUMERIC:VALUE? 2") == "INF"


def test_crest_factor_6a_reaches_twice_as_far(
    meter: Any,
    clock: Any,
) -> None:
    box = meter("constant:36W", model="WT310E")  # 0.3 A
    for factor, shown in (("6", "INF"), ("A6", "300.00E-03")):
        box.execute(
            VALUES
            + f";:INPUT:CFACTOR {factor};:INPUT:CURRENT:RANGE 0.25;:INPUT:CURRENT:RANGE 100MA"
        )
        box.execute(
            ":INPUT:CURRENT:RANGE 100MA"
            if factor == "6"
            else ":INPUT:CURRENT:RANGE 250MA"
        )
        clock.pass_s(1)
        assert box.execute(":INPUT:CFACTOR?;:NUMERIC:VALUE? 2") == f"{factor};{shown}"


def test_voltage_peaks_are_clipped_too(
    meter: Any,
    clock: Any,
) -> None:
    box = meter("constant:36W,volts=19V")  # 26.9 V at the peak
    box.execute(VALUES + ";:INPUT:VOLTAGE:RANGE 15;:INPUT:CURRENT:RANGE 5")
    clock.pass_s(1)
    assert box.execute(":NUMERIC:VALUE? 3;:STATUS:CONDITION?") == "36.000E+00;0"
    box = meter("constant:36W,volts=40V")
    box.execute(VALUES + ";:INPUT:VOLTAGE:RANGE 15;:INPUT:CURRENT:RANGE 5")
    clock.pass_s(1)
    assert box.execute(":STATUS:CONDITION?") == str((1 << 6) | (1 << 7))


def test_a_load_that_feeds_back_counts_backwards(
    meter: Any,
    clock: Any,
) -> None:
    box = meter("steps:36W@10s,-18W@30s")
    box.execute(
        VALUES
        + ";:NUMERIC:NUMBER 8;ITEM5 WHP;ITEM6 WHM;ITEM7 LAMBDA;ITEM8 PHI;:INTEGRATE:START"
    )
    clock.pass_s(30)
    assert box.execute(":NUMERIC:VALUE?") == (
        "120.00E+00,150.00E-03,-18.000E+00,0.00000E+00,100.000E-03,-100.000E-03,-1.0000E+00,180.00E+00"
    )


def test_hold_freezes_what_is_answered_and_counting_goes_on(
    meter: Any,
    clock: Any,
) -> None:
    box = meter("steps:36W@10s,72W@20s")
    box.execute(VALUES + ";:INTEGRATE:START")
    clock.pass_s(10)
    box.execute(":HOLD ON")
    clock.pass_s(10)
    rows = box.execute(":HOLD?;:NUMERIC:VALUE?")
    assert rows == "1;120.00E+00,300.00E-03,36.000E+00,100.000E-03,10"
    box.execute(":HOLD OFF")
    rows = box.execute(":NUMERIC:VALUE?")
    assert rows == "120.00E+00,600.00E-03,72.000E+00,300.000E-03,20"


def test_crest_factor_six_halves_the_ranges_and_forces_the_largest(meter: Any) -> None:
    box = meter()
    box.execute(":INPUT:CURRENT:RANGE 1;:INPUT:CFACTOR 6")
    rows = box.execute(":INPUT:CURRENT:RANGE?;:INPUT:VOLTAGE:RANGE?")
    assert rows == "10.000E+00;300.0E+00"


def test_each_update_raises_its_filtered_event_once(
    meter: Any,
    clock: Any,
) -> None:
    box = meter()
    box.execute(":STATUS:FILTER1 FALL")
    assert box.execute(":STATUS:EESR?") == "0"
    clock.pass_s(0.25)
    assert box.execute(":STATUS:EESR?;EESR?") == "1;0"
