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
    assert "<th>voltage range</th><td>15 V</td>" in shown
    assert "<th>current range</th><td>automatic</td>" in shown


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
