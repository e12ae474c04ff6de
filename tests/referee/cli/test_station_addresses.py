"""A wrong address of a meter is told with the file and the station, before anything is served."""

from __future__ import annotations

from pathlib import Path

import pytest

from referee.cli.station_addresses import require_addresses
from referee.config import ContestConfig, Station
from referee.errors import RefereeError


def config_of(meter: str) -> ContestConfig:
    return ContestConfig("Hall", (Station("one", "sim:"), Station("two", meter)))


def test_a_wrong_address_is_told_with_its_station() -> None:
    folder = Path("hall")
    with pytest.raises(RefereeError) as failure:
        require_addresses(folder, config_of("192.168.1.20"))
    assert failure.value.code == "bad-config"
    assert failure.value.sentence.startswith(
        f"{folder / 'contest.toml'}: station 'two': meter '192.168.1.20' is not the address"
    )


@pytest.mark.parametrize("host", ["127.1", "2130706433", "0177.0.0.1"])
def test_another_spelling_of_the_loopback_is_no_address_of_a_station(host: str) -> None:
    address = f"TCPIP::{host}::INSTR"
    sentence = f"Its host {host} cannot be; an IPv4 address has four numbers"
    with pytest.raises(RefereeError, match=sentence):
        require_addresses(Path("hall"), config_of(address))


def test_a_load_that_cannot_be_is_told_before_a_run_is_armed() -> None:
    with pytest.raises(RefereeError, match=r"'two': meter 'sim:load=abc' is not the"):
        require_addresses(Path("hall"), config_of("sim:load=abc"))


def test_good_addresses_pass() -> None:
    require_addresses(Path("hall"), config_of("TCPIP::192.168.1.20::INSTR"))
