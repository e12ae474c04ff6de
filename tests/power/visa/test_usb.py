"""The real USB-TMC path of pyvisa-py and pyusb, with a simulated meter at the other end of the cable."""

from __future__ import annotations

import contextlib
import errno
import sys
import time
from datetime import UTC, datetime
from typing import Any

import pytest

from lpirc_power.addresses.meter_address import open_meter
from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterError
from lpirc_power.meter import IntegratorState, Reading, Setup
from lpirc_power.sampling.sampler import Sampler
from lpirc_power.visa.link import TIMEOUT_MS, Link
from tests.power.opened import wt300
from tests.power.visa.usb_meter import ADDRESS, SERIAL, UsbMeter, plugged_in, simulated

SETUP = Setup(
    voltage_range_v=150.0,
    current_range_a=1.0,
    update_interval_s=0.1,
    integrator_timer_s=3600,
)


def readings_of_a_run(until: Any) -> tuple[list[Reading], Reading]:
    """A run over USB from arming to its energy, as a contest makes it."""
    readings: list[Reading] = []
    run = Sampler(
        ADDRESS,
        SETUP,
        readings.append,
        time.monotonic,
        lambda: datetime.now(UTC),
    )
    with contextlib.closing(run):
        run.arm()
        run.start()
        until(lambda: len(readings) >= 3)
        assert run.link_error is None
        return readings, run.stop()


def failure(address: str = ADDRESS) -> MeterError:
    with pytest.raises(MeterError) as caught:
        Link(address)
    assert "\n" not in caught.value.sentence
    return caught.value


def test_a_whole_run_over_usb(
    bus: Any,
    clocks: Clocks,
    until: Any,
) -> None:
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


def test_no_answer_is_given_up_earlier_than_usual(bus: Any) -> None:
    """An aborted transfer may cost the link, so what may be asked early on the network may not be here."""
    meter = plugged_in()
    bus(meter)
    with contextlib.closing(Link(ADDRESS)) as link:
        link.query("*IDN?", timeout_ms=100)
    assert min(meter.read_timeouts_ms) >= TIMEOUT_MS


def test_a_cable_that_is_pulled_out_loses_the_link(bus: Any) -> None:
    meter = plugged_in()
    bus(meter)
    with contextlib.closing(Link(ADDRESS)) as link:
        meter.plugged_in = False
        for _ in range(2):
            with pytest.raises(MeterError) as caught:
                link.query("*IDN?")
            assert caught.value.code == "meter-lost"


def test_a_cable_that_is_pulled_out_in_mid_answer_loses_the_link_at_once(
    bus: Any,
) -> None:
    meter = plugged_in()
    bus(meter)
    with contextlib.closing(Link(ADDRESS)) as link:
        meter.transfer = 8
        meter.reads_left = 2
        with pytest.raises(MeterError, match="is lost") as caught:
            link.query("*IDN?")
        assert caught.value.code == "meter-lost"


def test_an_answer_in_many_transfers_is_one_answer(bus: Any) -> None:
    meter = plugged_in()
    bus(meter)
    meter.transfer = 7
    with contextlib.closing(Link(ADDRESS)) as link:
        assert link.query("*IDN?").startswith("YOKOGAWA,WT310,")
        assert link.query(":INTEGRATE:STATE?") == "RES"


def test_a_run_needs_no_abort_though_the_meter_is_deaf_after_its_start(
    bus: Any,
    until: Any,
) -> None:
    instrument = simulated()
    instrument.faults.busy_after_start_s = 0.2
    meter = UsbMeter(instrument.execute, SERIAL)
    meter.knows_abort = meter.knows_clear = False
    bus(meter)
    readings, final = readings_of_a_run(until)
    assert readings[-1].state == IntegratorState.START
    assert final.state == IntegratorState.STOP


def test_a_refused_abort_is_a_timeout_and_the_link_stays_good(bus: Any) -> None:
    meter = plugged_in()
    bus(meter)
    meter.knows_abort = False
    with contextlib.closing(Link(ADDRESS)) as link:
        with pytest.raises(MeterError) as caught:
            link.query(":NONSENSE?", timeout_ms=50)
        assert caught.value.code == "meter-timeout"
        assert link.query(":STATUS:ERROR?").startswith("113,")
        meter.knows_clear = False
        with pytest.raises(MeterError, match="Pipe error") as caught:
            link.query(":NONSENSE?", timeout_ms=50)
        assert caught.value.code == "meter-lost"


def test_a_late_answer_is_not_taken_for_the_next_one(bus: Any) -> None:
    meter = plugged_in()
    meter.keeps_answers = True
    bus(meter)
    with contextlib.closing(Link(ADDRESS)) as link:
        meter.late_reads = 1
        with pytest.raises(MeterError) as caught:
            link.query("*IDN?", timeout_ms=50)
        assert caught.value.code == "meter-timeout"
        assert link.query("*OPC?") == "1"


@pytest.mark.parametrize("knows_clear", [True, False])
@pytest.mark.parametrize(
    "left",
    [
        ["36.0"],
        ["NAN,NAN,NAN,NAN"],
        [":INTEG:STAT RES", "0", "1;2"],
        ["YOKOGAWA,WT310,C2PH13047V,F1.03"],
    ],
)
def test_answers_that_a_killed_program_left_in_the_box_shift_none(
    bus: Any,
    clocks: Clocks,
    left: list[str],
    knows_clear: bool,
) -> None:
    meter = plugged_in()
    meter.keeps_answers = True
    meter.knows_clear = knows_clear
    meter.answers = [answer.encode() + b"\n" for answer in left]
    bus(meter)
    with open_meter(ADDRESS, clocks) as found:
        assert found.identity.serial == "C2PH13047V"
        assert found.state() is IntegratorState.RESET
    assert meter.answers == []
    assert meter.clears == int(knows_clear)


def test_opening_clears_no_error_that_the_meter_has_queued(
    bus: Any,
    clocks: Clocks,
) -> None:
    meter = plugged_in()
    bus(meter)
    for _ in range(2):
        with contextlib.closing(Link(ADDRESS)) as link:
            link.write(":NONSENSE 1")
    with open_meter(ADDRESS, clocks) as found:
        assert [error[:3] for error in found.status().errors] == ["113", "113"]


def test_a_clear_that_takes_its_time_is_waited_for(
    bus: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("lpirc_power.visa.usb.CLEAR_PAUSE_S", 0.0)
    meter = plugged_in()
    bus(meter)
    meter.clears_pending = 3
    with contextlib.closing(Link(ADDRESS)) as link:
        assert meter.clears_pending == -1
        meter.clears_pending = 1000
        assert link.clear() is False


def test_a_second_program_is_told_that_usb_serves_one(bus: Any) -> None:
    bus(plugged_in(claiming=errno.EBUSY))
    error = failure()
    assert error.code == "meter-locked"
    assert (
        "used by another program, and USB serves one at a time: end that program"
        in error.sentence
    )


def test_one_meter_is_found_without_its_serial_number_and_two_are_both_named(
    bus: Any,
) -> None:
    meter = plugged_in()
    bus(meter)
    short = "USB0::0x0B21::0x0025::INSTR"
    with contextlib.closing(Link(short)) as link:
        assert link.query("*OPC?") == "1"
    meter.beside.append(plugged_in(serial="3939"))
    error = failure(short)
    assert error.code == "meter-wrong-address"
    assert (
        f"finds 2 meters; write which one: {ADDRESS} and USB0::0x0B21::0x0025::3939::INSTR."
        in error.sentence
    )
    meter.plugged_in = False
    meter.beside = []
    assert failure(short).code == "meter-unreachable"
    bus(plugged_in(opening=errno.EACCES))
    assert failure(short).code == "meter-permission"


def test_no_permission_prints_the_udev_rule(bus: Any) -> None:
    bus(plugged_in(opening=errno.EACCES))
    error = failure()
    assert error.code == "meter-permission"
    rule = (
        'SUBSYSTEM=="usb", ATTR{idVendor}=="0b21", ATTR{idProduct}=="0025", MODE="0666"'
    )
    assert error.sentence.endswith(f": {rule}")
    assert "/etc/udev/rules.d/" in error.sentence


def test_another_serial_number_or_no_meter_at_all_is_told(bus: Any) -> None:
    meter = plugged_in()
    bus(meter)
    other = failure("USB0::0x0B21::0x0025::3939::INSTR")
    assert other.code == "meter-unreachable"
    assert ("another serial number" in other.sentence) is True
    meter.plugged_in = False
    none = failure()
    assert none.code == "meter-unreachable"
    assert ("no USB device" in none.sentence) is True


def test_without_libusb_or_pyusb_it_says_what_to_install(
    bus: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bus(None)
    error = failure()
    assert error.code == "meter-backend"
    assert ("libusb-1.0-0" in error.sentence) is True
    monkeypatch.setitem(sys.modules, "usb", None)
    bus.reload()
    error = failure()
    assert error.code == "meter-backend"
    assert ("package pyusb; install it: pip install pyusb" in error.sentence) is True


def test_the_one_meter_on_usb_without_pyusb_is_told_of_pyusb_not_of_libusb(
    bus: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bus(None)
    monkeypatch.setitem(sys.modules, "usb.core", None)
    error = failure("USB0::0x0B21::0x0025::INSTR")
    assert error.code == "meter-backend"
    assert ("install it: pip install pyusb" in error.sentence) is True
    assert "libusb" not in error.sentence
