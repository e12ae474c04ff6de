"""The meters' addresses of a contest, checked before anything is served."""

from __future__ import annotations

from pathlib import Path

from lpirc_power.addresses.meter_address import MeterAddress
from lpirc_power.errors import MeterError
from referee.config import CONFIG_NAME, ContestConfig
from referee.errors import RefereeError


def require_addresses(folder: Path, config: ContestConfig) -> None:
    """Raise RefereeError `bad-config` unless each station's meter has an address that a driver takes."""
    for station in config.stations:
        try:
            MeterAddress(station.meter)
        except MeterError as error:
            where = f"{folder / CONFIG_NAME}: station {station.name!r}: meter"
            raise RefereeError("bad-config", f"{where} {error.sentence}") from error
