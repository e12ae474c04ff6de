from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.addresses.meter_address import (
    MeterAddress,
    is_loopback,
    open_meter,
    standing,
)
from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterAddressError, MeterError
from lpirc_power.meter import Identity, IntegratorState, Setup
from lpirc_power.meter_standing import Standing
from lpirc_power.operating_system import HAS_PTYS
from lpirc_power.visa.link import Link
from lpirc_power.visa.resources import Resource, resource_of

SETUP = Setup(
    voltage_range_v=150.0,
    current_range_a=1.0,
    update_interval_s=0.1,
    integrator_timer_s=600,
)


@pytest.fixture
def sysfs(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """The sensors of a machine with one RAPL zone, as the schemes at home see them."""
    monkeypatch.setenv("METER_SYSFS", str(tmp_path / "sys"))
    zone = tmp_path / "sys/class/powercap/intel-rapl:0"
    zone.mkdir(parents=True)
    for name, content in (
        ("name", "package-0"),
        ("energy_uj", "5"),
        ("max_energy_range_uj", "1000"),
    ):
        (zone / name).write_text(f"{content}\n")
    return tmp_path / "sys"


@pytest.mark.parametrize(
    "address",
    [
        "TCPIP::192.168.1.9::INSTR",
        "TCPIP0::meter.example::inst0::INSTR",
        "TCPIP::127.0.0.1,1024::INSTR",
        "TCPIP::127.0.0.1,1024::INSTR@py",
        "TCPIP::meter::INSTR@ivi",
        "USB0::0x0B21::0x0025::43325048313330343756::INSTR",
        "USB0::2849::37::43325048313330343756::INSTR@ivi",
        "GPIB0::1::INSTR",
        "GPIB0::1::INSTR@ivi",
        "GPIB0::1",
        "GPIB0::01::INSTR",
        "GPIB::1::2",
        "gpib0::1@ivi",
        "USB0::0x0B21::0x0025::INSTR",
        "ASRL/dev/ttyUSB0::INSTR",
        "ASRL/dev/ttyUSB0?baud=38400",
        "ASRL3::INSTR?baud=38400@ivi",
        "ASRL1::INSTR@sim",
        "TCPIP::meter::INSTR@meters/wt310.yaml@sim",
        "sim",
        "sim:",
        "sim:constant:5W",
        "rapl:",
        "rapl:package-0+dram",
        "hwmon:",
        "hwmon:ina3221/VDD_IN",
    ],
)
def test_the_forms_of_an_address(address: str) -> None:
    with contextlib.closing(MeterAddress(address)) as place:
        assert place.address == address


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("", "'' is not the address of a meter. `meter --help` lists the forms"),
        ("a meter", "`meter --help` lists the forms"),
        (
            "meter",
            "Perhaps TCPIP::meter::INSTR is meant; `meter --help` lists the forms.",
        ),
        ("http://192.168.1.20/", "Perhaps TCPIP::192.168.1.20::INSTR is meant"),
        ("TCPIP:192.168.1.20:INSTR", "Perhaps TCPIP::192.168.1.20::INSTR is meant"),
        ("TCIP::192.168.1.20::INSTR", "Perhaps TCPIP::192.168.1.20::INSTR is meant"),
        ("tcp://192.168.1.20:5025", "Perhaps TCPIP::192.168.1.20,5025::INSTR is meant"),
        ("USB:0x0B21:0x0025:INSTR", "A meter on USB is USB0::0x0B21::0x0025::SERIAL"),
        ("USB", "A meter on USB is USB0::0x0B21::0x0025::SERIAL"),
        ("TCPIP::192.168.1.300::INSTR", "Its host 192.168.1.300 cannot be; an IPv4"),
        ("192.168.1.300", "Its host 192.168.1.300 cannot be; an IPv4 address has"),
        ("TCPIP::192.168.1.0/24::INSTR", "Its host '192.168.1.0/24' cannot be;"),
        ("TCPIP::192,168,1,20::INSTR", "an address's numbers: 192.168.1.20."),
        (" 'GPIB0::1' ", "without the blanks or quotes around it: GPIB0::1."),
        ("GPIB0::31", "its address in the utility menu, at most 30."),
        ("192.168.1.20", "Perhaps TCPIP::192.168.1.20::INSTR is meant"),
        ("TCPIP::127.0.0.1", "Perhaps TCPIP::127.0.0.1::INSTR is meant"),
        ("TCPIP0::meter.example", "Perhaps TCPIP::meter.example::INSTR is meant"),
        ("TCPIP::h,99999::INSTR", "Its port 99999 must lie between 1 and 65535."),
        ("TCPIP::h,0::INSTR", "Its port 0 must lie"),
        ("h:65536", "Its port 65536 must lie"),
        ("127.0.0.1:5025", "Perhaps TCPIP::127.0.0.1,5025::INSTR is meant"),
        (
            "TCPIP::127.0.0.1:5025::INSTR",
            "Perhaps TCPIP::127.0.0.1,5025::INSTR is meant",
        ),
        (
            "TCPIP::127.0.0.1::5025::INSTR",
            "Perhaps TCPIP::127.0.0.1,5025::INSTR is meant",
        ),
        (
            "TCPIP::127.0.0.1::5025::SOCKET",
            "Perhaps TCPIP::127.0.0.1,5025::INSTR is meant",
        ),
        ("TCPIP::h,1::SOCKET", "Perhaps TCPIP::h,1::INSTR is meant"),
        ("/dev/usbtmc0", "USB0::0x0B21::0x0025::SERIAL::INSTR"),
        (
            "GPIB0::1::INSTR@ni",
            "There is no backend @ni; choose @py, @ivi or @sim.",
        ),
        ("GPIB0::1::INSTR@", "There is no backend @;"),
        ("GPIB0", "A meter on GPIB is GPIB0::1::INSTR, the 1 being its address"),
        ("GPIB0::x", "A meter on GPIB is GPIB0::1::INSTR, the 1 being its address"),
        (
            "USB0::0x0B21::0x0025::S",
            "A meter on USB is USB0::0x0B21::0x0025::SERIAL::INSTR; `meter find` shows",
        ),
        ("USB0::INSTR", "A meter on USB is USB0::0x0B21"),
        (
            "USB0::0x0B21::0x0025::INSTR@ivi",
            "Only @py finds the one meter that is plugged in; write its serial",
        ),
        ("ASRL::INSTR", "A meter on RS-232 is ASRL/dev/ttyUSB0::INSTR"),
        ("/dev/ttyUSB0", "Perhaps ASRL/dev/ttyUSB0::INSTR is meant"),
        ("COM3", "Perhaps ASRL3::INSTR is meant"),
        (
            "ASRL3::INSTR?baud=fast",
            "'baud=fast' is not an option of a serial line; set its speed by ?baud=9600.",
        ),
        ("ASRL3::INSTR?baud=0", "'baud=0' is not an option of a serial line"),
        ("GPIB0::1::INSTR?baud=9600", "Only a serial line, ASRL…, takes an option"),
        ("TCPIP::h,1024::INSTR@ivi", "Only @py knows the form HOST,PORT"),
        (
            "replay:run.csv",
            "The simulated meter plays recordings: write sim:csv:run.csv.",
        ),
        ("constant:5W", "The simulated meter measures it: write sim:constant:5W."),
        (
            "run.csv",
            "It looks like the name of a file: `meter check run.csv` and `meter report run.csv` read",
        ),
        ("a 1.JSON", "name of a file: `meter check 'a 1.JSON'` and `meter"),
        ("Makefile", "It is the name of a file"),
        ("RAPL:", "Perhaps rapl: is meant, in small letters."),
        ("Sim:constant:5W", "Perhaps sim:constant:5W is meant"),
    ],
)
def test_a_wrong_form_is_told_with_what_may_be_meant(
    address: str,
    said: str,
) -> None:
    with pytest.raises(MeterError) as caught:
        MeterAddress(address)
    assert caught.value.code == "meter-wrong-address"
    assert said in caught.value.sentence
    assert repr(address) in caught.value.sentence
    assert "\n" not in caught.value.sentence
    assert len(caught.value.sentence) < 200


@pytest.mark.parametrize(
    ("address", "said"),
    [
        pytest.param("a" * 5000, "`meter --help` lists the forms", id="too long"),
        (os.sep, "It is a folder; `meter --help` lists the forms of an address."),
        ("sim:load=abc", "There is no load 'load=abc'. Loads are constant:36W"),
        ("sim:step:2W,9W", "Did you mean sim:steps:2W@5s,9W@10s? Loads are"),
    ],
)
def test_a_wrong_load_is_told_when_the_address_is_entered(
    address: str,
    said: str,
) -> None:
    with pytest.raises(MeterAddressError, match=re.escape(said)):
        MeterAddress(address)


def test_a_meter_at_home_keeps_its_integral_from_link_to_link(
    sysfs: Path,
    clocks: Clocks,
) -> None:
    with contextlib.closing(MeterAddress("rapl:")) as place:
        first = place.connect(clocks)
        first.configure(SETUP)
        first.start()
        first.close()
        (sysfs / "class/powercap/intel-rapl:0/energy_uj").write_text("41\n")
        second = place.connect(clocks)
        assert second.identity == first.identity
        assert second.state() is IntegratorState.START
        second.stop()
        assert second.read_final().energy_wh == pytest.approx(1e-8)


def test_two_addresses_are_two_meters(
    sysfs: Path,
    clocks: Clocks,
) -> None:
    with (
        contextlib.closing(MeterAddress("rapl:")) as one,
        contextlib.closing(MeterAddress("rapl:")) as other,
    ):
        one.connect(clocks).start()
        assert other.connect(clocks).state() is IntegratorState.RESET


def test_sysfs_may_be_mounted_elsewhere(
    sysfs: Path,
    clocks: Clocks,
) -> None:
    with open_meter("rapl:package-0", clocks) as meter:
        assert str(meter.identity).startswith("UNOFFICIAL rapl package-0 ")


@pytest.mark.parametrize(
    ("address", "code"),
    [
        ("rapl:psys", "meter-wrong-address"),
        ("hwmon:", "meter-unreachable"),
    ],
)
def test_what_is_not_there_is_said_when_it_is_opened(
    sysfs: Path,
    clocks: Clocks,
    address: str,
    code: str,
) -> None:
    with (
        contextlib.closing(MeterAddress(address)) as place,
        pytest.raises(MeterError) as caught,
    ):
        place.connect(clocks)
    assert caught.value.code == code


def test_the_backend_behind_an_address_is_used(
    simulate: Any,
    clocks: Clocks,
) -> None:
    with open_meter(f"{simulate().address}@py", clocks) as meter:
        assert meter.identity.model == "WT310"


def test_a_simulator_on_the_spot_is_one_for_all_its_links(clocks: Clocks) -> None:
    with contextlib.closing(MeterAddress("sim:constant:5W")) as place:
        first = place.connect(clocks)
        first.attach()
        first.configure(SETUP)
        first.start()
        first.close()
        second = place.connect(clocks)
        assert second.state() is IntegratorState.START
        second.close()


def test_a_serial_line_has_the_speed_of_its_address_or_9600() -> None:
    assert resource_of("ASRL/dev/ttyUSB0::INSTR?baud=38400") == Resource(
        "ASRL/dev/ttyUSB0::INSTR",
        "@py",
        38400,
    )
    assert resource_of("asrl3@ivi") == Resource("asrl3::INSTR", "@ivi", 9600)
    assert resource_of("GPIB0::1") == Resource("GPIB0::1::INSTR", "@py", None)
    assert resource_of("ASRL1::INSTR@box.yaml@sim") == Resource(
        "ASRL1::INSTR",
        "box.yaml@sim",
        9600,
    )


@pytest.mark.skipif(not HAS_PTYS, reason="Windows has no ptys")
@pytest.mark.parametrize("speed", ["", "?baud=38400"])
def test_a_run_over_a_serial_line(
    simulate: Any,
    clocks: Clocks,
    until: Any,
    speed: str,
) -> None:
    _, path = (
        simulate("--pty", "--load", "constant:36W").process.stdout.readline().split()
    )
    address = f"ASRL{path}::INSTR{speed}"
    with open_meter(address, clocks) as meter:
        meter.configure(SETUP)
        meter.start()
        until(lambda: meter.read().integrator_s >= 1)
        meter.stop()
        assert meter.read_final().energy_wh > 0
        assert standing(meter.identity, address) is Standing.SIMULATED
    assert is_loopback(address)


@pytest.mark.skipif(not HAS_PTYS, reason="Windows has no ptys")
def test_an_answer_left_in_a_serial_line_shifts_none(
    simulate: Any,
    clocks: Clocks,
) -> None:
    _, path = simulate("--pty").process.stdout.readline().split()
    with contextlib.closing(Link(f"ASRL{path}::INSTR")) as link:
        with pytest.raises(MeterError):
            link.query(":NONSENSE?", timeout_ms=50)
        link.write("*IDN?;:INTEGRATE:STATE?")
        link._resource.write_raw(b"*I")  # noqa: SLF001 - a Link writes whole messages; this program dies in mid-word
    with open_meter(f"ASRL{path}::INSTR", clocks) as meter:
        assert meter.identity.model == "WT310"
        assert meter.state() is IntegratorState.RESET


def test_a_serial_line_without_its_library_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    link = "import sys; sys.modules['serial'] = None; from lpirc_power.visa.link import Link; Link('ASRL1::INSTR')"
    done = subprocess.run(
        [sys.executable, "-c", link],
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stderr.splitlines()[-1]
    assert said.endswith(
        "needs the Python package pyserial; install it: pip install pyserial"
    )


def test_a_serial_port_that_is_not_there_is_unreachable(clocks: Clocks) -> None:
    with pytest.raises(
        MeterError,
        match="This machine has no serial port /dev/ttyNONE; plug",
    ) as caught:
        MeterAddress("ASRL/dev/ttyNONE::INSTR").connect(clocks)
    assert caught.value.code == "meter-unreachable"


def test_instruments_of_pyvisa_sim_never_count_and_need_their_package(
    clocks: Clocks,
) -> None:
    genuine = Identity("YOKOGAWA", "WT310", "C2PH13047V", "F1.03")
    for address in ("GPIB0::1::INSTR@sim", "GPIB0::1::INSTR@box.yaml@sim"):
        assert standing(genuine, address) is Standing.SIMULATED
        with pytest.raises(
            MeterError,
            match="needs the Python package pyvisa-sim",
        ) as caught:
            MeterAddress(address).connect(clocks)
        assert caught.value.code == "meter-backend"
