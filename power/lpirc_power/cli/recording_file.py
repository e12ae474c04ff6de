"""The file of a recording on the command line, in whose place people give a meter's address."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import Any, Final

import click

from lpirc_power.addresses.meter_address import MeterAddress
from lpirc_power.errors import MeterError
from lpirc_power.presence import is_there

_RESOURCE: Final = re.compile(r"(?:TCPIP|USB|GPIB|ASRL)\d*::?.*", re.IGNORECASE)
_HOST: Final = re.compile(r"(?:[a-z]+://)?(\d+(?:\.\d+){3})(?:[:,](\d+))?/?")


class RecordingFile(click.Path):
    """Click type of the file of a recording; a meter's address is refused, unless a file is called so."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """Return the path. Fails for an address, and for - as stdin."""
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        given = str(value)
        if given == "-" and not is_there(path):
            self.fail(
                "- is not a file; save the recording, and name its file.", param, ctx
            )
        if not is_there(path) and (address := _address_in(given)) is not None:
            ways = ""
            if address:
                quoted = shlex.quote(address)
                record = f"meter record {quoted} -o run.csv --duration 60"
                ways = f"; `meter probe {quoted}` looks at the meter, and `{record}` records with it"
            words = "is the address of a meter, and a recording's file is needed"
            self.fail(f"{given} {words}{ways}.", param, ctx)
        return path


def _address_in(given: str) -> str | None:
    """Return the address that is meant, or "" for one that is written wrongly; None for what is no address."""
    host = _HOST.fullmatch(given)
    if host is not None:
        given = f"TCPIP::{','.join(filter(None, host.groups()))}::INSTR"
    try:
        MeterAddress(given).close()
    except MeterError:
        return "" if _RESOURCE.fullmatch(given) else None
    return given
