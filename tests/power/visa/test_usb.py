"""The real USB-TMC path of pyvisa-py and pyusb, with a simulated meter at the other end of the cable."""

from __future__ import annotations

import contextlib
import errno
import importlib
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import pytest
from pyvisa_py.sessions import Session

from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterError
from lpirc_power.meter import IntegratorState, Setup
from lpirc_power.simulator.instrument import Instrument
from lpirc_power.simulator.loads import parse_load
from lpirc_power.visa.link import Link
from tests.power.opened import wt300
from tests.power.visa.usb_meter import UsbMeter

# The serial number on USB is that of *IDN? with every letter as two hexadecimal digits.
SERIAL = b"C2PH13047V".hex().upper()
ADDRESS = f"USB0::0x0B21::0x0025::{SERIAL}::INSTR"
SETUP = Setup(voltage_range_v=150.0, current_range_a=1.0, update_interval_s=0.1, integrator_timer_s=3600)


@pytest.fixture
def bus(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], None]:
    """Give pyusb a backend, and let pyvisa-py look again at what it can serve."""

    def use(backend: Any) -> None:
        for library in ("libusb1", "libusb0", "openusb"):
            with warnings.catch_warnings():  # pyusb's, as in lpirc_power.visa.link
                warnings.filterwarnings("ignore", "Due to '_pack_'", DeprecationWarning)
                module = importlib.import_module(f"usb.backend.{library}")
            monkeypatch.setattr(module, "get_backend", lambda *_, **__: backend)
        reload()

    def reload() -> None:
        monkeypatch.setattr(Session, "_session_classes", dict(Session._session_classes))  # noqa: SLF001 - pyvisa-py registers its sessions at import
        monkeypatch.delitem(sys.modules, "pyvisa_py.usb", raising=False)
        with contextlib.suppress(Exception):
            importlib.import_module("pyvisa_py.usb")

    use.reload = reload  # type: ignore[attr-defined]
    return use


def plugged_in(opening: int = 0) -> UsbMeter:
    instrument = Instrument(parse_load("constant:36W", time.monotonic), time.monotonic)
    return UsbMeter(instrument.execute, SERIAL, opening)


def failure(address: str = ADDRESS) -> MeterError:
    with pytest.raises(MeterError) as caught:
        Link(address)
    assert "\n" not in caught.value.sentence
    return caught.value


def test_a_whole_run_over_usb(bus: Any, clocks: Clocks, until: Any) -> None:
    bus(plugged_in())
    with contextlib.closing(Link(ADDRESS)) as link:
        meter = wt300(link, clocks)
        assert meter.identity.serial == "C2PH13047V"
        meter.attach()
        meter.configure(SETUP)
        assert meter.changes(SETUP) == ()
        meter.start()
        until(lambda: meter.read().integrator_s >= 1)
        meter.stop()
        final = meter.read_final()
        assert final.state is IntegratorState.STOP
        assert final.energy_wh == pytest.approx(36 * final.integrator_s / 3600, rel=1.0)
        meter.restore()


def test_an_unknown_query_over_usb_times_out_and_the_link_stays_good(bus: Any) -> None:
    bus(plugged_in())
    with contextlib.closing(Link(ADDRESS)) as link:
        with pytest.raises(MeterError) as caught:
            link.query(":NONSENSE?", timeout_ms=50)
        assert caught.value.code == "meter-timeout"
        assert link.query(":STATUS:ERROR?").startswith("113,")


def test_a_cable_that_is_pulled_out_loses_the_link(bus: Any) -> None:
    meter = plugged_in()
    bus(meter)
    with contextlib.closing(Link(ADDRESS)) as link:
        meter.plugged_in = False
        for _ in range(2):
            with pytest.raises(MeterError) as caught:
                link.query("*IDN?")
            assert caught.value.code == "meter-lost"


def test_no_permission_prints_the_udev_rule(bus: Any) -> None:
    bus(plugged_in(opening=errno.EACCES))
    error = failure()
    assert error.code == "meter-permission"
    rule = 'SUBSYSTEM=="usb", ATTR{idVendor}=="0b21", ATTR{idProduct}=="0025", MODE="0666"'
    assert error.sentence.endswith(f": {rule}")
    assert "/etc/udev/rules.d/" in error.sentence


def test_another_serial_number_or_no_meter_at_all_is_told(bus: Any) -> None:
    meter = plugged_in()
    bus(meter)
    other = failure("USB0::0x0B21::0x0025::3939::INSTR")
    assert (other.code, "another serial number" in other.sentence) == ("meter-unreachable", True)
    meter.plugged_in = False
    none = failure()
    assert (none.code, "no USB device" in none.sentence) == ("meter-unreachable", True)


def test_without_libusb_or_pyusb_it_says_what_to_install(bus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    bus(None)
    error = failure()
    assert (error.code, "libusb-1.0-0" in error.sentence) == ("meter-backend", True)
    monkeypatch.setitem(sys.modules, "usb", None)
    bus.reload()
    error = failure()
    assert (error.code, "package pyusb" in error.sentence) == ("meter-backend", True)
