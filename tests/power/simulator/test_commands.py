from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lpirc_power.simulator.control import CONTROLS
from lpirc_power.simulator.instrument import COMMANDS, Instrument, command_lines
from lpirc_power.simulator.numeric import FUNCTIONS
from lpirc_power.simulator.syntax import TEXTS

PAGE = (
    (Path(__file__).parents[3] / "docs" / "wt300-commands.md")
    .read_text()
    .replace("\\|", "|")
)


def error(box: Instrument) -> str:
    answer = box.execute(":STATUS:ERROR?")
    assert answer is not None
    return answer


def test_a_meter_as_delivered_answers_with_headers_in_short_words(clock: Any) -> None:
    from lpirc_power.simulator.loads import parse_load

    box = Instrument(parse_load("constant:1W", clock), clock)
    assert box.execute("*IDN?") == "YOKOGAWA,WT310,C2PH13047V,F1.03"
    assert box.execute(":INTEGRATE:MODE?") == ":INTEG:MODE NORM"
    assert box.execute(":INTEGRATE:STATE?") == "RES"
    box.execute(":COMM:VERB 1")
    assert box.execute(":INTEG:MODE?") == ":INTEGRATE:MODE NORMAL"
    assert box.execute("VOLTAGE:RANGE?") == ":INPUT:VOLTAGE:RANGE 600.0E+00"
    assert box.execute(":NUM:ITEM3?") == ":NUMERIC:NORMAL:ITEM3 P,1"


@pytest.mark.parametrize(
    "message",
    [
        ":INPUT:VOLTAGE:RANGE 150V",
        "input:voltage:range 150",
        ":inp:volt:rang 0.15KV",
        ":VOLT:RANG 150000MV",
        "VOLTAGE:RANGE 1.5E2",
    ],
)
def test_headers_come_short_or_long_in_any_case_with_units(
    meter: Any,
    message: str,
) -> None:
    box = meter()
    box.execute(message)
    rows = box.execute(":INPUT:VOLTAGE:RANGE?;:INPUT:VOLTAGE:AUTO?;:STATUS:ERROR?")
    assert rows == '150.0E+00;0;0,"No error"'


def test_a_header_without_colon_stays_in_the_group(meter: Any) -> None:
    box = meter()
    rows = box.execute(":INTEGRATE:TIMER 0,10,0;MODE CONTINUOUS;*OPC?;TIMER?")
    assert rows == "1;0,10,0"
    assert box.execute(":INTEGRATE:STATE?;INPUT:MODE?") == "RESET"
    assert error(box).startswith("113,")


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (":NONSENSE", 113),
        (":INTEGRATE:STAT?", 0),
        (":INTEGRATE:STA?", 113),
        (":INTEGRATE:STATE RESET", 113),
        ("!", 102),
        (":RATE 300MS", 222),
        (":RATE", 109),
        (":RATE 1,2", 108),
        (":RATE 1V", 131),
        (":RATE FAST", 120),
        (":INPUT:MODE AC", 141),
        (":INPUT:VOLTAGE:AUTO PERHAPS", 141),
        (":INPUT:VOLTAGE:RANGE 100V", 222),
        (":NUMERIC:ITEM1 XY", 141),
        (":NUMERIC:ITEM1 U,2", 222),
        (":NUMERIC:ITEM0 U", 114),
        (":STATUS:FILTER17 RISE", 114),
        (":INTEGRATE:TIMER 1,2", 109),
        (":INTEGRATE:TIMER 0,60,0", 222),
        (":INTEGRATE:TIMER 10000,0,1", 222),
        (":INTEGRATE:STOP", 844),
        ("*RST 1", 108),
    ],
)
def test_what_is_refused_is_queued_with_its_code(
    meter: Any,
    message: str,
    code: int,
) -> None:
    box = meter()
    box.execute(message)
    assert int(error(box).split(",")[0]) == code
    assert error(box) == '0,"No error"'


@pytest.mark.parametrize(
    "message",
    [
        ":RATE 1",
        ":INPUT:MODE DC",
        ":INPUT:CFACTOR 6",
        ":INTEGRATE:MODE NORMAL",
        ":INTEGRATE:TIMER 0,0,1",
        "*CAL?",
        "*RST",
    ],
)
def test_a_running_integrator_locks_settings(
    meter: Any,
    message: str,
) -> None:
    box = meter()
    box.execute(":INTEGRATE:START")
    assert box.execute(message) is None
    assert error(box).startswith("813,")


def test_settings_stay_locked_until_the_reset(meter: Any) -> None:
    box = meter()
    box.execute(":INTEGRATE:START;STOP;:RATE 1")
    assert error(box).startswith("813,")
    box.execute(":INTEGRATE:RESET;:RATE 1")
    assert error(box).startswith("0,")
    assert box.execute(":RATE?") == "1.000E+00"


def test_the_integrator_refuses_what_its_state_forbids(
    meter: Any,
    clock: Any,
) -> None:
    box = meter()
    box.execute(":INTEGRATE:TIMER 0,0,5;START;START")
    assert error(box).startswith("842,")
    box.execute(":INTEGRATE:RESET")
    assert error(box).startswith("845,")
    clock.pass_s(6)
    box.execute(":INTEGRATE:STOP")
    assert error(box).startswith("844,")
    box.execute(":INTEGRATE:START")
    assert error(box).startswith("842,")
    assert box.execute(":INTEGRATE:STATE?") == "TIMEUP"


def test_an_error_ends_the_message_but_keeps_the_answers_before_it(meter: Any) -> None:
    box = meter()
    assert box.execute("*IDN?;:NONSENSE?;*OPC?") == "YOKOGAWA,WT310,C2PH13047V,F1.03"


def test_a_full_error_queue_says_so_last(meter: Any) -> None:
    box = meter()
    for _ in range(40):
        box.execute(":NONSENSE")
    codes = []
    while (code := int(error(box).split(",")[0])) != 0:
        codes.append(code)
    assert codes == [113] * 15 + [350]


def test_reset_keeps_the_communication_settings(meter: Any) -> None:
    box = meter()
    box.execute(":RATE 1;:INPUT:VOLTAGE:RANGE 60;:NUMERIC:NUMBER 2;*RST")
    rows = box.execute(":RATE?;:INPUT:VOLTAGE:RANGE?;AUTO?;:NUMERIC:NUMBER?")
    assert rows == "250.0E-03;600.0E+00;1;9"
    assert box.execute(":COMMUNICATE:HEADER?;VERBOSE?") == "0;1"


def test_event_registers_tell_and_clear(meter: Any) -> None:
    box = meter()
    assert box.execute("*ESR?;*ESR?") == "128;0"
    box.execute(":NONSENSE")
    assert box.execute("*ESR?") == "32"
    box.execute("*OPC")
    assert box.execute("*ESR?;*STB?") == "1;4"
    box.execute("*CLS")
    assert box.execute("*STB?") == "0"


def test_float_format_marks_missing_data_and_over_range(
    meter: Any,
    clock: Any,
) -> None:
    box = meter("constant:36W")
    box.execute(":NUMERIC:FORMAT FLOAT;NUMBER 1;ITEM1 P")
    assert box.execute(":NUMERIC:VALUE?").encode("latin-1") == b"#40004\x7e\x95\x1b\xee"
    box.execute(":INPUT:CURRENT:RANGE 10MA")
    clock.pass_s(1)
    assert box.execute(":NUMERIC:VALUE?").encode("latin-1") == b"#40004\x7e\x94\xf5\x6a"
    box.execute(":INPUT:CURRENT:RANGE 1")
    clock.pass_s(1)
    assert box.execute(":NUMERIC:VALUE?").encode("latin-1") == b"#40004\x42\x10\x00\x00"


def test_the_page_of_commands_names_all_of_them() -> None:
    for command in COMMANDS:
        assert (
            f"| `{command.forms}` | {'R' if command.locked else ''} | {command.help} |"
            in PAGE
        )
    for word, (argument, _) in CONTROLS.items():
        assert f"| `{word} {argument}".strip() + "` |" in PAGE
    assert all(f"`{function}`" in PAGE for function in FUNCTIONS)
    assert all(f"| {code} | {text} |" in PAGE for code, text in TEXTS.items())


def test_the_printed_table_names_every_command_once() -> None:
    lines = list(command_lines())
    for command in COMMANDS:
        assert command.help.endswith(".")
        assert any(command.pattern.text in line for line in lines)
    assert len({command.pattern.text for command in COMMANDS}) == len(COMMANDS)
