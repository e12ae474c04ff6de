"""The forms of answers, against the public logs that they come from."""

from __future__ import annotations

from typing import Any

import pytest

from lpirc_power.simulator.instrument import Instrument
from lpirc_power.simulator.loads import parse_load

ITEMS = ":NUMERIC:NUMBER 3;ITEM1 TIME;ITEM2 U;ITEM3 LAMBDA"
ASKED = ":NUMERIC:NUMBER?;ITEM1?;ITEM3?;:INPUT:MODE?"


@pytest.mark.parametrize(
    ("dialect", "said"),
    [
        (
            "log2015",
            ":NUM:NORM:NUM 3;:NUM:NORM:ITEM1 TIME,1;:NUM:NORM:ITEM3 LAMB,1;:INP:MODE RMS",
        ),
        (
            "manual",
            ":NUMERIC:NORMAL:NUMBER 3;:NUMERIC:NORMAL:ITEM1 TIME,1;:NUMERIC:NORMAL:ITEM3 LAMBDA,1;:INPUT:MODE RMS",
        ),
        (
            "free-running",
            ":NUM:NORM:NUM 3;:NUM:NORM:ITEM1 TIME,1;:NUM:NORM:ITEM3 LAMB,1;:INP:MODE RMS",
        ),
        ("wt310e", ":NUM:NUM 3;:NUM:ITEM1 TIME;:NUM:ITEM3 LAMB,1;:INP:MODE RMS"),
    ],
)
def test_each_dialect_has_its_headers_and_items(
    clock: Any,
    dialect: str,
    said: str,
) -> None:
    box = Instrument(parse_load("constant:36W", clock), clock, dialect=dialect)
    box.execute(ITEMS)
    assert box.execute(ASKED) == said


@pytest.mark.parametrize(
    ("count", "brief", "full"),
    [
        (10, "#240", "#40040"),
        (52, "#3208", "#40208"),
    ],
)
def test_the_head_of_a_block_is_short_or_of_four_figures(
    clock: Any,
    count: int,
    brief: str,
    full: str,
) -> None:
    for dialect, head in (
        ("wt310e", brief),
        ("log2015", full),
        ("manual", full),
    ):
        box = Instrument(parse_load("constant:36W", clock), clock, dialect=dialect)
        block = box.execute(f":NUMERIC:FORMAT FLOAT;NUMBER {count};VALUE?")
        assert block is not None
        assert block.startswith(head)
        assert len(block) == len(head) + 4 * count


SHOWN = ":NUMERIC:NORMAL:NUMBER 3;ITEM1 P;ITEM2 WH;ITEM3 TIME"
WH_A_SECOND = 36 / 3600


@pytest.fixture
def running_on(
    meter: Any,
    clock: Any,
) -> Any:
    """A meter whose updates run on, one second each, 0.7 s after an update."""
    box = meter(dialect="free-running")
    box.execute(f":RATE 1S;{SHOWN}")
    clock.pass_s(1.7)
    return box


def shown(box: Instrument) -> tuple[float, ...]:
    return tuple(map(float, str(box.execute(":NUMERIC:VALUE?")).split(",")))


def test_updates_that_run_on_keep_their_values_at_a_start_and_show_a_part_first(
    running_on: Any,
    clock: Any,
) -> None:
    running_on.execute(":INTEGRATE:START")
    assert shown(running_on) == (36.0, 0.0, 0.0)
    clock.pass_s(0.29)
    assert shown(running_on) == (36.0, 0.0, 0.0)
    for seconds in (0.3, 1.3, 2.3):
        clock.pass_s(0.01 if seconds == 0.3 else 1.0)
        assert shown(running_on) == (
            36.0,
            pytest.approx(seconds * WH_A_SECOND, rel=1e-5),
            int(seconds),
        )


@pytest.mark.parametrize("timer_s", [0, 3])
def test_an_end_shows_with_the_next_update_and_as_a_part_of_one(
    running_on: Any,
    clock: Any,
    timer_s: int,
) -> None:
    running_on.execute(f":INTEGRATE:TIMER 0,0,{timer_s};START")
    clock.pass_s(3.0)
    if not timer_s:
        running_on.execute(":INTEGRATE:STOP")
    assert running_on.execute(":INTEGRATE:STATE?") == ("TIMEUP" if timer_s else "STOP")
    assert shown(running_on)[1:] == (pytest.approx(2.3 * WH_A_SECOND, rel=1e-5), 2.0)
    clock.pass_s(0.3)
    assert shown(running_on)[1:] == (pytest.approx(3.0 * WH_A_SECOND, rel=1e-5), 3.0)
    running_on.execute(":INTEGRATE:RESET")
    assert shown(running_on)[2] == 3.0
    clock.pass_s(1.0)
    assert shown(running_on) == (36.0, 0.0, 0.0)


def test_a_meter_without_lock_knows_neither_of_its_commands(meter: Any) -> None:
    box = meter(without=["lock"])
    for message in (":COMMUNICATE:LOCKOUT ON", ":SYSTEM:KLOCK?"):
        assert box.execute(message) is None
        assert box.execute(":STATUS:ERROR?") == '113,"Undefined header"'
    assert box.execute(":COMMUNICATE:REMOTE ON;REMOTE?") == "1"
    assert box.execute(":COMMUNICATE?") == "0;1;1;WT300"


def test_a_meter_without_filters_has_that_of_updates_only(
    meter: Any,
    clock: Any,
) -> None:
    box = meter(without=["filters"])
    box.execute(":STATUS:FILTER1 FALL;FILTER2 FALL")
    rows = box.execute(":STATUS:ERROR?;FILTER1?")
    assert rows == '114,"Header suffix out of range";FALL'
    assert box.execute(":STATUS:FILTER9?") is None
    assert "FALL" in box.execute(":STATUS?")
    clock.pass_s(1)
    assert box.execute(":STATUS:EESR?") == "1"


@pytest.mark.parametrize(("without", "events"), [([], "3"), (["latch"], "1")])
def test_a_meter_without_latch_takes_filters_whose_events_never_come(
    meter: Any,
    clock: Any,
    without: list[str],
    events: str,
) -> None:
    box = meter(without=without)
    box.execute(":STATUS:FILTER1 FALL;FILTER2 FALL;:INTEGRATE:START;STOP")
    clock.pass_s(1)
    assert box.execute(":STATUS:FILTER2?;EESR?") == f"FALL;{events}"
