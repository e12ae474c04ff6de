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


def test_good_addresses_pass() -> None:
    require_addresses(Path("hall"), config_of("TCPIP::192.168.1.20::INSTR"))
