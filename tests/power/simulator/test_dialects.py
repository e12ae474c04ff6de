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
        ("log2015", ":NUM:NORM:NUM 3;:NUM:NORM:ITEM1 TIME,1;:NUM:NORM:ITEM3 LAMB,1;:INP:MODE RMS"),
        (
            "manual",
            ":NUMERIC:NORMAL:NUMBER 3;:NUMERIC:NORMAL:ITEM1 TIME,1;:NUMERIC:NORMAL:ITEM3 LAMBDA,1;:INPUT:MODE RMS",
        ),
        ("wt310e", ":NUM:NUM 3;:NUM:ITEM1 TIME;:NUM:ITEM3 LAMB,1;:INP:MODE RMS"),
    ],
)
def test_each_dialect_has_its_headers_and_items(clock: Any, dialect: str, said: str) -> None:
    box = Instrument(parse_load("constant:36W", clock), clock, dialect=dialect)
    box.execute(ITEMS)
    assert box.execute(ASKED) == said


@pytest.mark.parametrize(("count", "brief", "full"), [(10, "#240", "#40040"), (52, "#3208", "#40208")])
def test_the_head_of_a_block_is_short_or_of_four_figures(
    clock: Any, count: int, brief: str, full: str
) -> None:
    for dialect, head in (("wt310e", brief), ("log2015", full), ("manual", full)):
        box = Instrument(parse_load("constant:36W", clock), clock, dialect=dialect)
        block = box.execute(f":NUMERIC:FORMAT FLOAT;NUMBER {count};VALUE?")
        assert block is not None
        assert block.startswith(head)
        assert len(block) == len(head) + 4 * count
