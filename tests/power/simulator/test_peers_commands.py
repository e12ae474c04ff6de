"""Commands that other people's programs send to meters of the family: each is understood, and means something."""

from __future__ import annotations

from typing import Any

import pytest

from lpirc_power.simulator.instrument import Instrument
from lpirc_power.simulator.loads import parse_load


def error(box: Instrument) -> int:
    return int(str(box.execute(":STATUS:ERROR?")).partition(",")[0])


@pytest.mark.parametrize(
    ("written", "asked", "said"),
    [
        (":SAMPLE:RATE 500MS", ":SAMPLE:RATE?;:RATE?", "500.0E-03;500.0E-03"),
        (":SAMP:HOLD ON", ":SAMPLE:HOLD?;:HOLD?", "1;1"),
        (":MATH CFU1", ":MATH?", "CFU1"),
        (":MATH AVW1", ":MATH?", "AVW1"),
        (":MEASURE:MHOLD ON", ":MEASURE:MHOLD?", "1"),
        (
            ":MEAS:AVER:TYPE EXPONENT;COUNT 64",
            ":MEASURE:AVERAGING:TYPE?;COUNT?",
            "EXPONENT;64",
        ),
        (":SYST:KLOC ON", ":SYSTEM:KLOCK?", "1"),
        ("*CLS", ":SYSTEM:MODEL?;SERIAL?", '"WT310";"C2PH13047V"'),
        (":NUMERIC:HOLD ON", ":NUMERIC:HOLD?", "1"),
        (":NUM:NORM:NUM ALL", ":NUMERIC:NUMBER?", "255"),
        (
            ":NUMERIC:CLEAR 2,3",
            ":NUMERIC:ITEM1?;ITEM2?;ITEM3?;ITEM4?",
            "U,1;NONE;NONE;S,1",
        ),
        (":NUMERIC:CLEAR ALL", ":NUMERIC:ITEM1?;ITEM9?", "NONE;NONE"),
        (
            ":NUMERIC:DELETE 2,3",
            ":NUMERIC:ITEM1?;ITEM2?;ITEM7?;ITEM8?",
            "U,1;S,1;FI,1;NONE",
        ),
        (":NUMERIC:CLEAR ALL;PRESET 1", ":NUMERIC:NUMBER?;ITEM3?", "9;P,1"),
        (":NUMERIC:PRESET 4", ":NUMERIC:NUMBER?;ITEM17?", "22;WH,1"),
        (
            ":NUMERIC:NUMBER 3;ITEM2 TIME",
            ":NUMERIC:HEADER?;HEADER? 3",
            "U-E1,TIME-E1,P-E1;P-E1",
        ),
        (
            ":INPUT:VOLTAGE:CONFIG 600,300,150",
            ":INPUT:VOLTAGE:CONFIG?",
            "150.0E+00,300.0E+00,600.0E+00",
        ),
        (":INPUT:CURRENT:CONFIG 1;CONFIG ALL", ":INPUT:CURRENT:CONFIG?", "ALL"),
        (
            ":INPUT:SCALING:VT 10;CT:ELEMENT1 2",
            ":INP:SCAL:VT?;CT?;SFAC?",
            "10.000E+00;2.0000E+00;1.0000E+00",
        ),
        (":RATE:TIMEOUT 5S;SYNC I1", ":RATE:TIMEOUT?;SYNCHRONIZE?", "5.0000E+00;I1"),
        (":COMMUNICATE:COMMAND WT300E", ":SYSTEM:COMMUNICATE:COMMAND?", "WT300E"),
        ("*CLS", ":INPUT:POVER?;CRANGE?", "0;0"),
    ],
)
def test_what_is_written_reads_back(
    meter: Any,
    written: str,
    asked: str,
    said: str,
) -> None:
    box = meter()
    box.execute(written)
    assert box.execute(asked) == said
    assert error(box) == 0


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (":MATH SQRT", 141),
        (":NUMERIC:PRESET 5", 222),
        (":NUMERIC:CLEAR", 109),
        (":NUMERIC:CLEAR 1,2,3", 108),
        (":NUMERIC:DELETE 256", 222),
        (":INPUT:VOLTAGE:CONFIG 100", 222),
        (":INPUT:VOLTAGE:CONFIG SOME", 120),
        (":MEASURE:AVERAGING:COUNT 9", 141),
        (":INTEGRATE? 1", 108),
        (":INTEGRATE", 113),
        (":NUMERIC:ITEM256?", 114),
    ],
)
def test_what_makes_no_sense_is_refused(
    meter: Any,
    message: str,
    code: int,
) -> None:
    box = meter()
    box.execute(message)
    assert error(box) == code


def test_a_group_is_answered_as_a_public_log_of_a_wt310e_shows_it(clock: Any) -> None:
    box = Instrument(
        parse_load("constant:36W", clock),
        clock,
        model="WT310E",
        dialect="wt310e",
    )
    functions = ["MATH", "TIME", "U", "I", "P", "S", "Q", "LAMBDA", "PHI", "FU"]
    box.execute(
        ":NUMERIC:NUMBER 10;"
        + ";".join(f"ITEM{n} {name}" for n, name in enumerate(functions, start=1))
    )
    assert box.execute(":NUM:NORM?") == (
        ":NUM:NUM 10;ITEM1 MATH;ITEM2 TIME;ITEM3 U,1;ITEM4 I,1;ITEM5 P,1;ITEM6 S,1;ITEM7 Q,1;ITEM8 LAMB,1;"
        "ITEM9 PHI,1;ITEM10 FU,1"
    )


@pytest.mark.parametrize(
    ("header", "asked", "said"),
    [
        ("OFF", ":INTEGRATE?", "NORMAL;0,10,0"),
        ("ON", ":INTEG?", ":INTEGRATE:MODE NORMAL;TIMER 0,10,0"),
        ("ON", ":MEAS:AVER?", ":MEASURE:AVERAGING:STATE 0;TYPE LINEAR;COUNT 8"),
        (
            "ON",
            ":DISPLAY?",
            ":DISPLAY:NORMAL:ITEM1 U,1;ITEM2 I,1;ITEM3 P,1;ITEM4 LAMBDA,1",
        ),
    ],
)
def test_a_group_names_its_header_once(
    meter: Any,
    header: str,
    asked: str,
    said: str,
) -> None:
    box = meter()
    box.execute(f":INTEGRATE:TIMER 0,10,0;:COMMUNICATE:HEADER {header}")
    assert box.execute(asked) == said


def test_every_group_answers(meter: Any) -> None:
    box = meter(model="WT333E")
    for group in (
        "INPUT",
        "INPUT:VOLTAGE",
        "VOLTAGE",
        "MEASURE",
        "NUMERIC",
        "STATUS",
        "SYSTEM",
        "COMMUNICATE",
    ):
        assert box.execute(f":{group}?"), group
    assert error(box) == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CFU1", 2**0.5),
        ("CFI1", 2.0),
        ("AVW1", 36.0),
        ("ADD", 120.3),
        ("SUB", 119.7),
        ("MUL", 36.0),
        ("DIV", 400.0),
        ("DIVA", 120 / 0.09),
        ("DIVB", 120**2 / 0.3),
    ],
)
def test_math_computes(
    meter: Any,
    clock: Any,
    name: str,
    value: float,
) -> None:
    box = meter("constant:36W,crest=2")
    box.execute(f":MATH {name};:NUMERIC:ITEM1 MATH;:INTEGRATE:START")
    clock.pass_s(10)
    assert float(box.execute(":NUMERIC:VALUE? 1")) == pytest.approx(value, rel=1e-3)


def test_math_without_a_divisor_or_of_itself_has_no_figure(
    meter: Any,
    clock: Any,
) -> None:
    box = meter("constant:0W")
    box.execute(":MATH CFI1;:NUMERIC:ITEM1 MATH")
    clock.pass_s(1)
    assert box.execute(":NUMERIC:VALUE? 1") == "INF"
    box.execute(":MATH ADD;:DISPLAY:ITEM1 MATH")
    assert box.execute(":NUMERIC:VALUE? 1") == "NAN"


@pytest.mark.parametrize("held", [":HOLD", ":NUMERIC:HOLD", ":SAMPLE:HOLD"])
def test_held_values_stay_while_the_integrator_goes_on(
    meter: Any,
    clock: Any,
    held: str,
) -> None:
    box = meter("steps:36W@5s,9W@100s")
    box.execute(":NUMERIC:ITEM1 P;ITEM2 WH;:INTEGRATE:START")
    clock.pass_s(4)
    box.execute(f"{held} ON")
    before = box.execute(":NUMERIC:VALUE? 1;VALUE? 2")
    clock.pass_s(6)
    assert box.execute(":NUMERIC:VALUE? 1;VALUE? 2") == before
    box.execute(f"{held} OFF")
    assert box.execute(":NUMERIC:VALUE? 1;VALUE? 2") == "9.0000E+00;62.5000E-03"


def test_of_two_holds_both_must_end(
    meter: Any,
    clock: Any,
) -> None:
    box = meter("steps:36W@5s,9W@100s")
    clock.pass_s(4)
    box.execute(":HOLD ON;:NUMERIC:HOLD ON;:HOLD OFF")
    clock.pass_s(6)
    assert box.execute(":NUMERIC:VALUE? 3") == "36.000E+00"
    box.execute(":NUMERIC:HOLD OFF")
    assert box.execute(":NUMERIC:VALUE? 3") == "9.0000E+00"


def test_maximum_hold_shows_the_largest_and_ends_with_rst(
    meter: Any,
    clock: Any,
) -> None:
    box = meter("steps:36W@5s,9W@100s")
    box.execute(":INPUT:VOLTAGE:RANGE 150;:INPUT:CURRENT:RANGE 1;:MEASURE:MHOLD ON")
    clock.pass_s(10)
    assert box.execute(":NUMERIC:VALUE? 3") == "36.000E+00"
    box.execute(":MEASURE:MHOLD OFF")
    clock.pass_s(1)
    assert box.execute(":NUMERIC:VALUE? 3") == "9.0000E+00"
    assert box.execute(":MEASURE:MHOLD ON;*RST;:MEASURE:MHOLD?") == "0"


def test_automatic_ranging_takes_only_the_ranges_it_may(
    meter: Any,
    clock: Any,
) -> None:
    box = meter("constant:36W")  # 120 V; 0.3 A
    box.execute(":INPUT:VOLTAGE:CONFIG 600,300;:INPUT:CURRENT:CONFIG 20,2")
    clock.pass_s(2)
    rows = box.execute(":INPUT:VOLTAGE:RANGE?;:INPUT:CURRENT:RANGE?")
    assert rows == "300.0E+00;2.000E+00"
