"""Laws of the message layer: whatever comes, the meter refuses or obeys, and never breaks."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_power.simulator.instrument import COMMANDS, Instrument
from lpirc_power.simulator.loads import parse_load
from lpirc_power.simulator.syntax import (
    TEXTS,
    RefusedError,
    boolean,
    choice,
    engineering,
    integer,
    number,
    parse_unit,
    register,
    units,
)

WORDS = (
    *(
        "*IDN?",
        ":INPUT",
        ":VOLTAGE",
        ":RANGE",
        ":NUM",
        ":ITEM",
        ":INTEG",
        ":START",
        ":COMM",
        ":HEAD",
        "?",
        ";",
    ),
    *(
        ",",
        " ",
        "150",
        "V",
        "MA",
        "U",
        "SIGMA",
        "1",
        "2",
        "300",
        "1E999",
        "#HFF",
        "#",
        "ON",
        "AUTO",
        "-",
        ".",
    ),
)


def box(model: str = "WT310") -> Instrument:
    clock = lambda: 0.0  # noqa: E731
    return Instrument(parse_load("constant:36W", clock), clock, model=model)


def refused_or(
    parse: object,
    *arguments: object,
) -> object:
    try:
        return parse(*arguments)  # type: ignore[operator]
    except RefusedError as refusal:
        return TEXTS[refusal.code] and None


@given(st.text())
def test_no_text_breaks_the_parsers(text: str) -> None:
    for unit in units(text):
        refused_or(parse_unit, unit, "")
    value = refused_or(number, text, "V")
    assert value is None or math.isfinite(value)  # type: ignore[arg-type]
    refused_or(integer, text, 0, 65535)
    refused_or(register, text, 65535)
    refused_or(boolean, text)
    refused_or(choice, text, ("RESet", "STOP"))


@given(st.lists(st.sampled_from(WORDS), max_size=12).map("".join))
def test_no_message_breaks_the_meter(message: str) -> None:
    meter = box("WT333E")
    meter.execute(message)
    assert meter.execute("*OPC?") == "1"


@given(st.from_regex(r"[ -~]{0,40}", fullmatch=True), st.sampled_from(COMMANDS))
def test_no_data_breaks_a_command(
    data: str,
    command: object,
) -> None:
    meter = box("WT333E")
    if command.waits:  # type: ignore[attr-defined]
        return
    header = (
        command.pattern.spelled(True, 3)
        if ":" in command.pattern.text
        else command.pattern.text
    )  # type: ignore[attr-defined]
    for mark in ("", "?"):
        meter.execute(f"{header}{mark} {data}".replace(";", ""))
    assert meter.execute("*OPC?") == "1"


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.pattern.text)
def test_every_setting_reads_back_as_it_can_be_written(command: object) -> None:
    if not command.is_setting or command.waits or "VALue" in command.pattern.text:  # type: ignore[attr-defined]
        return
    meter = box()
    header = command.pattern.spelled(False, 3)  # type: ignore[attr-defined]
    answer = meter.execute(f"{header}?")
    assert answer is not None
    assert answer.startswith(header)
    assert meter.execute(answer) is None
    assert meter.execute(f"{header}?;:STATUS:ERROR?") == f'{answer};0,"No error"'


@given(
    st.integers(-9999, 9999),
    st.integers(-12, 12),
    st.sampled_from(("", "V", "MV", "KV", "UV", "M", "K")),
)
def test_a_number_reads_as_what_it_says(
    mantissa: int,
    exponent: int,
    suffix: str,
) -> None:
    scale = {
        "": 1.0,
        "V": 1.0,
        "M": 1e-3,
        "K": 1e3,
        "U": 1e-6,
    }[suffix[:1]]
    assert number(f"{mantissa}E{exponent}{suffix}", "V") == pytest.approx(
        mantissa * 10.0**exponent * scale
    )


@given(st.floats(-1e9, 1e9), st.integers(3, 7))
def test_a_written_number_has_its_digits_and_an_exponent_of_thousands(
    value: float,
    digits: int,
) -> None:
    mantissa, exponent = engineering(value, digits).split("E")
    assert len(mantissa.lstrip("-").replace(".", "")) == digits
    assert int(exponent) % 3 == 0


@given(st.integers(0, 65535))
def test_a_register_reads_in_every_base(value: int) -> None:
    assert {
        register(text, 65535)
        for text in (str(value), f"#H{value:X}", f"#q{value:o}", f"#B{value:b}")
    } == {value}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("#", 120),
        ("#H", 120),
        ("#HG", 120),
        ("#B2", 120),
        ("#D1", 120),
        ("#HFFFFF", 222),
        ("#H-1", 120),
        ("1.5", 120),
    ],
)
def test_a_wrong_register_is_refused(
    text: str,
    code: int,
) -> None:
    with pytest.raises(RefusedError) as caught:
        register(text, 65535)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("ON", True),
        ("off", False),
        ("1", True),
        ("0", False),
        ("0.4", False),
        ("-3", True),
    ],
)
def test_a_boolean_is_a_word_or_a_number_that_rounds(
    text: str,
    truth: bool,
) -> None:
    assert boolean(text) is truth


def test_milli_amperes_and_mega_amperes_are_told_apart() -> None:
    assert [number(text, "A") for text in ("500MA", "1MAA", "2M", "3KA")] == [
        0.5,
        1e6,
        2e-3,
        3e3,
    ]
    with pytest.raises(RefusedError) as caught:
        number("1E400", "A")
    assert caught.value.code == 123


def test_header_and_data_may_be_any_space_apart() -> None:
    rows = box().execute(
        ":COMM:HEAD\t OFF;VERB   ON;:INPUT:VOLTAGE:RANGE\t150 V;RANGE?"
    )
    assert rows == "150.0E+00"
