from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_power.errors import MeterError
from lpirc_power.wt300 import answers

WORDS = ("nan", "inf", "infinity", "-nan", "-inf", "-infinity")


@given(st.floats(-9e37, 9e37))
def test_every_number_in_nr3_is_read(number: float) -> None:
    assert answers.value(f"{number:.6E}") == pytest.approx(number, rel=1e-6, abs=1e-300)


@given(
    st.text(alphabet=st.characters(categories=["L", "P", "Z"])).filter(
        lambda text: not text.strip().lower().endswith(WORDS) and text.strip("-")
    )
)
def test_what_is_no_number_is_a_meter_error(text: str) -> None:
    with pytest.raises(MeterError) as caught:
        answers.value(text)
    assert caught.value.code == "meter-answer"


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("500MA", 0.5),
        ("150.0 V", 150.0),
        (":RATE 100MS", 0.1),
        ("2KW", 2000.0),
        (":NUM:VAL 1.0E+00", 1.0),
    ],
)
def test_units_and_headers_may_stand_beside_a_number(
    text: str,
    number: float,
) -> None:
    assert answers.value(text) == pytest.approx(number)


@pytest.mark.parametrize("text", ["NAN", "nan", "9.91E+37", "-", "---"])
def test_no_data_is_nan(text: str) -> None:
    assert math.isnan(answers.value(text))


@pytest.mark.parametrize("text", ["INF", "inf", "9.9E+37"])
def test_over_range_is_infinity(text: str) -> None:
    assert answers.value(text) == math.inf


@pytest.mark.parametrize(
    ("answer", "plain"),
    [
        (":INTEGRATE:MODE NORMAL", "NORMAL"),
        (":INTEG:MODE NORM\n", "NORM"),
        ("NORMAL", "NORMAL"),
        (":NUM:NORM:ITEM1 U,1", "U,1"),
        ("300.0E+00", "300.0E+00"),
        (":NOTHING", ""),
        ("ITEM2 TIME", "TIME"),
        ("EXTERNAL,50.00E-03", "EXTERNAL,50.00E-03"),
    ],
)
def test_headers_are_left_out(
    answer: str,
    plain: str,
) -> None:
    assert answers.data(answer) == plain


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("150.0E+00", "150"),
        ("500.0E-03", "0.5"),
        ("1", "ON"),
        ("OFF", "0"),
        (":COMM:HEAD 0", "OFF"),
        ("vmean", "VMEAN"),
        ("U, 1", "U,1"),
        ("U,1,TOTAL", "U,1"),
        ("WH,SIGMA", "WH,SIGMA"),
        ("1,0,0", "1,0,0"),
        ("LAMB,1", "LAMBDA,1"),
        ("WH,SIGM", "WH,SIGMA"),
        (":STAT:FILT1 FALL", "FALL"),
        (":NUM:FORM ASC", "ASCII"),
        # What a public log of a WT310E's :NUM:NORM? shows: no element where none is needed, headers within a group.
        ("ITEM2 TIME", "TIME,1"),
        ("TIME,1", "TIME"),
        (":NUM:ITEM17 TIME", "TIME"),
        ("MATH", "MATH,1"),
        (":NUM:NUM 255", "255"),
        ("UK,1,TOT", "UK,1"),
        # Element 1 is the one that is meant when none is named.
        ("WH", "WH,1"),
        ("WH,1", "WH"),
        ("LAMB", "LAMBDA,1"),
        # Units and multipliers; zeros in front; a short word that is to be set again.
        ("150V", "150"),
        ("150.0 V", "150"),
        ("500MA", "0.5"),
        (":RATE 100MS", "0.1"),
        ("1.0E+00", "1"),
        ("001,00,00", "1,0,0"),
        ("VMEAN", "VME"),
        (":INPUT:VOLTAGE:AUTO ON", "ON"),
    ],
)
def test_a_setting_is_recognised_in_every_form(
    answer: str,
    expected: str,
) -> None:
    assert answers.same(answer, expected)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("300.0E+00", "150"),
        ("U,2", "U,1"),
        ("A6", "6"),
        ("", "0"),
        ("1,0,0", "1,0,1"),
        ("U", "U,2"),
        ("U", "U,SIGMA"),
        ("U,2", "U"),
        ("500MA", "500"),
        ("1", "1,0,0"),
        *((short, "WHP,1") for short in ("WH,1", "W,1", "WHP,1,2")),
    ],
)
def test_another_setting_is_not(
    answer: str,
    expected: str,
) -> None:
    assert not answers.same(answer, expected)


@given(st.text(), st.text())
def test_comparing_never_fails(
    answer: str,
    expected: str,
) -> None:
    assert answers.same(answer, expected) in (True, False)
    assert answers.understood(answer, expected) in (True, False)


@pytest.mark.parametrize(
    ("answer", "expected", "has_meaning"),
    [
        ("300.0E+00", "150", True),
        ("AUTO", "0.1", True),
        ("A6", "3", True),
        ("EXTERNAL,50.00E-03", "1", True),
        ("DC", "RMS", True),
        (":NUM:ITEM6 AH,1", "WH,1", True),
        ("1", "OFF", True),
        *(("", expected, False) for expected in ("150", "RMS", "OFF", "WH,1")),
        *(("<html>", expected, False) for expected in ("150", "RMS", "OFF", "WH,1")),
        ("RMS", "150", False),
        ("7", "OFF", False),
        ("0:01:00", "0,1,0", False),
        ("60", "0,1,0", False),
    ],
)
def test_an_answer_without_meaning_is_told_from_another_setting(
    answer: str,
    expected: str,
    has_meaning: bool,
) -> None:
    assert not answers.same(answer, expected)
    assert answers.understood(answer, expected) is has_meaning


def test_joined_answers_are_taken_apart_with_or_without_headers() -> None:
    joined = ":NUM:NUM 255;ITEM1 MATH;ITEM2 TIME;ITEM3 U,1;P,1;1.0E+00,NAN;STAR"
    assert answers.parts(joined) == [
        "255",
        "MATH",
        "TIME",
        "U,1",
        "P,1",
        "1.0E+00,NAN",
        "STAR",
    ]


@pytest.mark.parametrize("code", ["0", "+0", "00", "000", " 0 ", "-0"])
def test_no_error_is_none_however_its_code_is_written(code: str) -> None:
    assert answers.queued_errors(lambda: f'{code},"No error"') == ()
    assert answers.is_error(f'{code.strip()}10,"Something"')


def test_errors_are_found_behind_headers() -> None:
    queue = iter([':STAT:ERR 113,"Undefined header"', ':STAT:ERR 0,"No error"'])
    assert answers.queued_errors(lambda: next(queue)) == (
        '113 "Undefined header": it does not know the command',
    )


@pytest.mark.parametrize(
    ("text", "on"),
    [
        ("1", True),
        ("ON", True),
        (":INP:VOLT:AUTO 0", False),
        ("off", False),
    ],
)
def test_booleans_come_as_figures_or_words(
    text: str,
    on: bool,
) -> None:
    assert answers.boolean(text) is on


@pytest.mark.parametrize("text", ["", "2", "MAYBE"])
def test_anything_else_is_no_boolean(text: str) -> None:
    with pytest.raises(MeterError, match="0 or 1"):
        answers.boolean(text)


@pytest.mark.parametrize(
    ("elements", "over", "voltage", "current"),
    [
        (("1",), 0b1000000, 0b10000000, 0b100000000),
        (("2",), 1 << 9, 1 << 10, 1 << 11),
        (("3",), 1 << 12, 1 << 13, 1 << 14),
        (("1", "3"), 1 << 3 | 1 << 6 | 1 << 12, 1 << 7 | 1 << 13, 1 << 8 | 1 << 14),
        (
            ("1", "2", "3"),
            1 << 3 | 1 << 6 | 1 << 9 | 1 << 12,
            1 << 7 | 1 << 10 | 1 << 13,
            1 << 8 | 1 << 11 | 1 << 14,
        ),
    ],
)
def test_each_element_has_its_flags_and_a_sum_those_of_all(
    elements: tuple[str, ...],
    over: int,
    voltage: int,
    current: int,
) -> None:
    flags = answers.Flags.of(elements)
    assert flags.over_range == over
    assert flags.voltage_peak == voltage
    assert flags.current_peak == current


@given(st.lists(st.floats(allow_nan=True)))
def test_the_largest_has_no_sign_and_ignores_what_is_missing(
    numbers: list[float],
) -> None:
    found = answers.largest(numbers)
    there = [abs(number) for number in numbers if not math.isnan(number)]
    assert (found in there and found >= max(there)) if there else math.isnan(found)
