"""Opening a meter: what is wrong shows at once, and nothing in the meter is changed."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

import lpirc_power
from lpirc_power import MeterError, OpenMeter, open_meter


def test_a_meter_that_does_not_answer_is_refused_at_once() -> None:
    with pytest.raises(MeterError) as refused:
        open_meter("TCPIP::127.0.0.1,1::INSTR")
    assert refused.value.code == "meter-unreachable"


def test_an_address_of_no_meter_is_refused() -> None:
    with pytest.raises(MeterError) as refused:
        open_meter("nowhere")
    assert refused.value.code == "meter-wrong-address"


def test_a_range_that_the_meter_lacks_is_refused_at_once(
    simulate: Any,
) -> None:
    address = simulate().address
    with pytest.raises(MeterError, match=r"no current range 0\.3 A; it has") as refused:
        open_meter(address, current_range_a=0.3)
    assert refused.value.code == "meter-range"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"voltage_range_v": "150"}, "voltage_range_v is '150', not a number"),
        ({"current_range_a": -1}, "current_range_a is -1"),
        ({"update_interval_s": None}, "update_interval_s is None, not a number"),
        ({"mode": "DC"}, "mode is 'DC', not 'rms' or 'vmean' or 'dc'"),
        ({"crest_factor": "3"}, "crest_factor is '3', not the number 3 or 6"),
        ({"crest_factor": 4}, "crest_factor is 4, not the number 3 or 6"),
        ({"voltage_range_v": 0}, "voltage_range_v is 0, not a finite number above 0"),
        ({"update_interval_s": 0}, "update_interval_s is 0, not from 0.0001 to"),
        ({"element": 1}, "element is 1, not a text"),
        ({"line_filter": "no"}, "line_filter is 'no', not True or False"),
        ({"ambient_change_c": -5}, "ambient_change_c is -5"),
        ({"ambient_change_c": float("nan")}, "ambient_change_c is nan"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_before_a_meter_is_asked(
    given: Any, said: str
) -> None:
    with pytest.raises(MeterError) as refused:
        open_meter("TCPIP::127.0.0.1,1::INSTR", **given)
    assert refused.value.code == "meter-range"
    assert said in refused.value.sentence


@pytest.mark.parametrize("seconds", [float("nan"), -1, 0, float("inf"), "x", True, [1]])
def test_a_time_for_the_idle_power_that_never_ends_is_refused(
    meter: OpenMeter, seconds: Any
) -> None:
    for ask in (meter.idle, lambda time_s: meter.recording("run.csv", idle_s=time_s)):
        with pytest.raises(MeterError) as refused:
            ask(seconds)
        assert refused.value.code == "meter-range"
        assert "give a time above 0" in refused.value.sentence


@pytest.mark.parametrize("name", ["a\0b", "run.json", "run.parquet"])
def test_a_name_that_no_recording_can_have_is_refused(
    meter: OpenMeter, name: str
) -> None:
    with pytest.raises(MeterError) as refused:
        meter.recording(name)
    assert refused.value.code == "recording-file"


def test_opening_changes_nothing_and_names_the_meter(
    meter: OpenMeter,
    settings: Any,
) -> None:
    before = settings(meter)
    again = open_meter(meter.address, voltage_range_v=15)
    assert settings(meter) == before
    assert str(again.identity).startswith("YOKOGAWA WT310 SIMULATED")
    assert repr(again) == f"<meter {again.identity} at {meter.address}>"
    shown = again._repr_html_()
    assert '<th scope="row">voltage range</th><td>15 V</td>' in shown
    assert '<th scope="row">current range</th><td>automatic</td>' in shown


def test_importing_the_package_is_cheap_and_every_name_is_there() -> None:
    code = (
        "import lpirc_power, sys; "
        "print({'numpy', 'click', 'pyvisa', 'usb'} & {*sys.modules}); "
        "print(*(hasattr(lpirc_power, name) for name in lpirc_power.__all__))"
    )
    said = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert said[0] == "set()"
    assert {*said[1].split()} == {"True"}
    assert {*lpirc_power.__all__} <= {*dir(lpirc_power)}
    with pytest.raises(AttributeError, match="has no attribute 'close_meter'"):
        _ = lpirc_power.close_meter
