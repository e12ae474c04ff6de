from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from lpirc_power.addresses import MeterAddress, open_meter
from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterError
from lpirc_power.meter import IntegratorState, Setup

SETUP = Setup(voltage_range_v=150.0, current_range_a=1.0, update_interval_s=0.1, integrator_timer_s=600)


@pytest.fixture
def sysfs(tmp_path: Path) -> Path:
    zone = tmp_path / "sys/class/powercap/intel-rapl:0"
    zone.mkdir(parents=True)
    for name, content in (("name", "package-0"), ("energy_uj", "5"), ("max_energy_range_uj", "1000")):
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
        ("", "`meter --help` lists the forms"),
        ("a meter", "`meter --help` lists the forms"),
        ("meter", "Perhaps TCPIP::meter::INSTR is meant; `meter --help` lists the forms."),
        ("192.168.1.20", "Perhaps TCPIP::192.168.1.20::INSTR is meant"),
        ("TCPIP::127.0.0.1", "Perhaps TCPIP::127.0.0.1::INSTR is meant"),
        ("TCPIP0::meter.example", "Perhaps TCPIP::meter.example::INSTR is meant"),
        ("TCPIP::h,99999::INSTR", "Its port 99999 is not one from 1 to 65535."),
        ("TCPIP::h,0::INSTR", "Its port 0 is not one"),
        ("h:65536", "Its port 65536 is not one"),
        ("127.0.0.1:5025", "Perhaps TCPIP::127.0.0.1,5025::INSTR is meant"),
        ("TCPIP::127.0.0.1:5025::INSTR", "Perhaps TCPIP::127.0.0.1,5025::INSTR is meant"),
        ("TCPIP::127.0.0.1::5025::INSTR", "Perhaps TCPIP::127.0.0.1,5025::INSTR is meant"),
        ("TCPIP::127.0.0.1::5025::SOCKET", "Perhaps TCPIP::127.0.0.1,5025::INSTR is meant"),
        ("TCPIP::h,1::SOCKET", "Perhaps TCPIP::h,1::INSTR is meant"),
        ("/dev/usbtmc0", "USB0::0x0B21::0x0025::SERIAL::INSTR"),
        ("GPIB0::1::INSTR@ni", "There is no backend @ni; there are @py and @ivi."),
        ("GPIB0::1::INSTR@", "There is no backend @;"),
        ("TCPIP::h,1024::INSTR@ivi", "Only @py knows the form HOST,PORT"),
        ("replay:run.csv", "The simulated meter plays recordings: write sim:csv:run.csv."),
        ("RAPL:", "Perhaps rapl: is meant, in small letters."),
        ("Sim:constant:5W", "Perhaps sim:constant:5W is meant"),
    ],
)
def test_a_wrong_form_is_told_with_what_may_be_meant(address: str, said: str) -> None:
    with pytest.raises(MeterError) as caught:
        MeterAddress(address)
    assert caught.value.code == "meter-wrong-address"
    assert said in caught.value.sentence
    assert repr(address) in caught.value.sentence
    assert "\n" not in caught.value.sentence
    assert len(caught.value.sentence) < 200


def test_a_meter_at_home_keeps_its_integral_from_link_to_link(sysfs: Path, clocks: Clocks) -> None:
    with contextlib.closing(MeterAddress("rapl:", sysfs)) as place:
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


def test_two_addresses_are_two_meters(sysfs: Path, clocks: Clocks) -> None:
    with (
        contextlib.closing(MeterAddress("rapl:", sysfs)) as one,
        contextlib.closing(MeterAddress("rapl:", sysfs)) as other,
    ):
        one.connect(clocks).start()
        assert other.connect(clocks).state() is IntegratorState.RESET


def test_sysfs_may_be_mounted_elsewhere(sysfs: Path, clocks: Clocks, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METER_SYSFS", str(sysfs))
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
    sysfs: Path, clocks: Clocks, address: str, code: str
) -> None:
    with contextlib.closing(MeterAddress(address, sysfs)) as place, pytest.raises(MeterError) as caught:
        place.connect(clocks)
    assert caught.value.code == code


def test_the_backend_behind_an_address_is_used(simulate: Any, clocks: Clocks) -> None:
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
