"""`meter find` on a bus of its own, and a network that is this machine."""

from __future__ import annotations

import contextlib
import errno
import json
import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from click.testing import CliRunner
from pyvisa_py.protocols import rpc

from lpirc_power.cli import main
from lpirc_power.simulator.portmapper import Portmapper
from lpirc_power.simulator.vxi11 import CORE_PROGRAM
from tests.power.visa.usb_meter import ADDRESS, UsbMeter, plugged_in

IDN = "YOKOGAWA,WT310,C2PH13047V,F1.03"


@pytest.fixture(autouse=True)
def quiet_world(
    bus: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No device on USB, no one who hears a broadcast, and no serial port."""
    meter = plugged_in()
    meter.plugged_in = False
    bus(meter)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("", 0))
        monkeypatch.setattr(rpc, "PMAP_PORT", taken.getsockname()[1])
    monkeypatch.setattr("pyvisa_py.serial.comports", list)


@pytest.fixture
def on_network(
    simulate: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Callable[[], None]]:
    """Put a simulated meter on the network, found by a portmapper that hears broadcasts."""
    with contextlib.ExitStack() as stack:

        def put() -> None:
            mapped = Portmapper({CORE_PROGRAM: simulate().port}, "0.0.0.0", 0)  # noqa: S104 - a broadcast needs it
            stack.callback(mapped.close)
            monkeypatch.setattr(rpc, "PMAP_PORT", mapped.port)

        yield put


def found(*options: str) -> Any:
    ran = CliRunner().invoke(main, ["find", "--json", *options])
    assert ran.exit_code == 0, ran.output
    return json.loads(ran.stdout)


def test_a_usb_meter_is_found_with_its_own_serial_number_and_what_it_says(
    bus: Any,
) -> None:
    bus(plugged_in())
    assert found()["found"] == [
        {
            "kind": "usb",
            "address": ADDRESS,
            "serial": "C2PH13047V",
            "said": IDN,
            "not_asked": None,
        }
    ]
    ran = CliRunner().invoke(main, ["find"])
    assert ran.stdout.splitlines() == [
        ADDRESS,
        "  serial  C2PH13047V",
        f"  *IDN?   {IDN}",
    ]


@pytest.mark.parametrize(
    ("meter", "why"),
    [
        (
            plugged_in(claiming=errno.EBUSY),
            "is used by another program, and USB serves one at a time",
        ),
        (
            plugged_in(opening=errno.EACCES),
            "this user may not open it; write this line into",
        ),
    ],
)
def test_a_usb_meter_that_cannot_be_asked_is_listed_with_the_reason(
    bus: Any,
    meter: UsbMeter,
    why: str,
) -> None:
    bus(meter)
    (one,) = found()["found"]
    assert one["said"] is None
    assert why in one["not_asked"]


def test_a_usb_meter_that_another_program_may_use_by_the_systems_driver_keeps_it(
    bus: Any,
) -> None:
    meter = plugged_in()
    meter.has_kernel_driver = True
    bus(meter)
    (one,) = found()["found"]
    assert one["serial"] == "C2PH13047V"
    assert one["said"] is None
    assert meter.has_kernel_driver
    assert meter.clears == 0


def test_a_meter_on_the_network_is_found_by_a_broadcast(on_network: Any) -> None:
    on_network()
    (first, *_) = found()["found"]  # it may be found by each network of this machine
    assert first["kind"] == "network"
    assert first["said"] == "YOKOGAWA,WT310,SIMULATED,F1.03"


def test_a_serial_port_is_listed_and_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "pyvisa_py.serial.comports",
        lambda: [("/dev/ttyUSB0", "adapter", "")],
    )
    ran = CliRunner().invoke(main, ["find"])
    assert ran.exit_code == 0
    assert ran.stdout.splitlines()[0] == "ASRL/dev/ttyUSB0::INSTR"
    assert "not asked: the device at a serial port may not be a meter" in ran.stdout
    assert ran.stderr.startswith("meter: No meter has answered; ")


def test_nothing_found_says_where_it_has_looked_and_what_to_check(
    bus: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran = CliRunner().invoke(main, ["find"])
    assert ran.exit_code == 1
    assert ran.stdout == ""
    assert ran.stderr.count("\n") == 1
    assert (
        "searched: USB (vendor 0x0B21), the network (a VXI-11 broadcast), serial ports. Check"
        in ran.stderr
    )
    bus(None)
    monkeypatch.setitem(sys.modules, "pyvisa_py.serial", None)
    ran = CliRunner().invoke(main, ["find"])
    assert (
        "searched: the network (a VXI-11 broadcast). Not searched: USB, which needs"
        in ran.stderr
    )
    assert "serial ports, which need the Python package pyserial (pip" in ran.stderr
