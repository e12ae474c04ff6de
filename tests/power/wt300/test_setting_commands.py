"""The settings of a meter: each is one value, and the page of commands lists them."""

from __future__ import annotations

from pathlib import Path

import pytest

from lpirc_power.errors import MeterError
from lpirc_power.wt300 import setting_commands as controls
from lpirc_power.wt300.models import model_named
from lpirc_power.wt300.setting_commands import CONTROLS, Numbered, Switch

PAGE = Path(__file__).parents[3] / "docs" / "wt300-commands.md"


def test_the_page_of_commands_lists_every_setting_with_its_purpose() -> None:
    page = PAGE.read_text("utf-8")
    for one in CONTROLS:
        number = "<n>" if isinstance(one, Numbered) else ""
        assert f"| `{one.header}{number}` | {one.purpose} | {one.takes} |" in page


def test_every_setting_stands_once_and_says_what_it_does() -> None:
    named = [
        one for one in vars(controls).values() if isinstance(one, controls.Control)
    ]
    assert {*named} == {*CONTROLS}
    assert len({one.header for one in CONTROLS}) == len(CONTROLS)
    assert all(one.purpose.endswith(".") for one in CONTROLS)


@pytest.mark.parametrize("one", [one for one in CONTROLS if isinstance(one, Switch)])
def test_a_switch_reads_back_as_it_was_set(one: Switch) -> None:
    for on, answer in ((True, "1"), (False, "0")):
        assert one.to(on=on).holds(answer)
        assert one.to(on=not on).contradicts(answer)
        assert one.read(answer) is on


def test_what_a_meter_does_not_have_is_refused_before_anything_is_sent() -> None:
    model = model_named("WT310")
    assert model is not None
    for refused in (
        lambda: controls.CREST_FACTOR.to(4),
        lambda: controls.MODE.to("peak"),
        lambda: controls.VOLTAGE_RANGE.to(25, model.voltage_ranges_v(3)),
        lambda: controls.UPDATE_RATE.to(10, model),
        lambda: controls.INTEGRATE_TIMER.to(-1),
    ):
        with pytest.raises(MeterError) as caught:
            refused()
        assert caught.value.code == "meter-range"


def test_values_read_back_as_they_were_written() -> None:
    model = model_named("WT310E")
    assert model is not None
    fixed = controls.CURRENT_RANGE.to(0.5, model.current_ranges_a(3))
    assert fixed.command == ":INPUT:CURRENT:RANGE 500MA"
    assert fixed.holds("500.0E-03")
    assert controls.CURRENT_RANGE.read("500.0E-03") == 0.5
    assert controls.UPDATE_RATE.to(0.25, model).command == ":RATE 250MS"
    assert controls.UPDATE_RATE.read("250.0E-03", model) == 0.25
    assert controls.INTEGRATE_TIMER.to(3725).command == ":INTEGRATE:TIMER 1,2,5"
    assert controls.MODE.read("VME") == "vmean"
    assert controls.CREST_FACTOR.read("A6") == 6
