"""Which meters count in a contest."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lpirc_power.addresses.meter_address import (
    MeterAddress,
    is_loopback,
    open_meter,
    standing,
)
from lpirc_power.cli.main import main
from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterAddressError
from lpirc_power.meter import Identity
from lpirc_power.meter_standing import Standing
from tests.power.foreign import served

SERIAL = "C2PH13047V"
FAR = "TCPIP::192.168.1.20::INSTR"


@pytest.mark.parametrize(
    ("maker", "model", "serial", "found"),
    [
        ("YOKOGAWA", "WT310", SERIAL, Standing.OFFICIAL),
        (" Yokogawa ", "wt310eh", SERIAL, Standing.OFFICIAL),
        ("YOKOGAWA", "WT333", SERIAL, Standing.OFFICIAL),
        ("YOKOGAWA", "WT310", "SIMULATED", Standing.SIMULATED),
        ("YOKOGAWA", "WT310", f"simulated-{SERIAL}", Standing.SIMULATED),
        ("YOKOGAWA", "WT500", SERIAL, Standing.UNKNOWN_MODEL),
        ("YOKOGAWA", "", SERIAL, Standing.UNKNOWN_MODEL),
        ("ACME", "WT310", SERIAL, Standing.OTHER_MAKER),
        ("UNOFFICIAL", "rapl", "package-0", Standing.OTHER_MAKER),
        ("", "", "", Standing.OTHER_MAKER),
    ],
)
def test_only_known_models_of_the_one_maker_count(
    maker: str,
    model: str,
    serial: str,
    found: Standing,
) -> None:
    assert standing(Identity(maker, model, serial, "F1.03"), FAR) is found
    # The operator's word is for the address alone.
    assert (
        standing(Identity(maker, model, serial, "F1.03"), FAR, loopback_meter=True)
        is found
    )


@pytest.mark.parametrize(
    ("address", "loopback"),
    [
        ("TCPIP::127.0.0.1,1024::INSTR", True),
        ("TCPIP0::127.0.0.1::inst0::INSTR", True),
        ("tcpip::127.3.2.1::instr@ivi", True),
        ("TCPIP::localhost::INSTR", True),
        ("TCPIP::LocalHost,1024::INSTR@py", True),
        # Other names of the same place, as the system resolves them.
        ("TCPIP::0x7f000001::INSTR", True),
        ("TCPIP::0.0.0.0,1024::INSTR", True),
        # Refused as an address, so no meter counts by them either.
        ("TCPIP::127.1::INSTR", True),
        ("TCPIP::2130706433::INSTR", True),
        ("TCPIP::192.168.1.20::INSTR", False),
        ("TCPIP::10.0.0.7,1024::INSTR", False),
        ("TCPIP::nobody.invalid::INSTR", False),
        (f"TCPIP::{'a' * 70}::INSTR", False),
        ("USB0::0x0B21::0x0025::43325048313330343756::INSTR", False),
        ("GPIB0::1::INSTR@ivi", False),
        ("ASRL1::INSTR", False),
    ],
)
def test_a_loopback_address_is_known_by_where_it_leads(
    address: str,
    loopback: bool,
) -> None:
    assert is_loopback(address) is loopback


@pytest.mark.parametrize("host", ["127.1", "2130706433", "127.0.0.01", "0177.0.0.1"])
def test_another_spelling_of_the_loopback_is_refused_where_a_meter_is_opened(
    host: str,
    tmp_path: Path,
) -> None:
    address = f"TCPIP::{host}::INSTR"
    sentence = f"Its host {host} cannot be; an IPv4 address has four numbers"
    with pytest.raises(MeterAddressError, match=re.escape(sentence)):
        MeterAddress(address)
    for entry in (
        ["probe", address],
        ["zero", address],
        ["range", address],
        ["certify", address],
        ["watch", address],
        ["unlock", address],
        ["ptd", address],
        ["loop", address, "--", "true"],
        ["record", address, "-o", str(tmp_path / "run.csv")],
    ):
        told = CliRunner().invoke(main, entry)
        assert told.exit_code, entry
        assert sentence in " ".join(told.output.split()), entry
    official = Identity("YOKOGAWA", "WT310", SERIAL, "F1.03")
    assert standing(official, address) is Standing.LOOPBACK


def test_a_meter_of_this_machine_does_not_count_unless_the_operator_says_so(
    clocks: Clocks,
) -> None:
    with (
        served({"*IDN?": lambda: f"YOKOGAWA,WT310E,{SERIAL},F1.03"}) as address,
        open_meter(address, clocks) as meter,
    ):
        found = meter.identity
    assert standing(found, address) is Standing.LOOPBACK
    assert standing(found, address, loopback_meter=True) is Standing.LOOPBACK_ALLOWED
    assert standing(found, FAR) is Standing.OFFICIAL


@pytest.mark.parametrize(
    ("given", "serial"),
    [
        (SERIAL, f"SIMULATED-{SERIAL}"),
        ("SIMULATED2", "SIMULATED2"),
        ("simulated", "SIMULATED-simulated"),
        ("", "SIMULATED-"),
    ],
)
def test_a_simulated_meter_is_one_whatever_its_serial_number(
    simulate: Any,
    clocks: Clocks,
    given: str,
    serial: str,
) -> None:
    with open_meter(simulate("--serial", given).address, clocks) as meter:
        assert meter.identity.serial == serial
        assert standing(meter.identity, FAR, loopback_meter=True) is Standing.SIMULATED
