"""`meter find`: list the instruments on USB, on the network and at serial ports."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from lpirc_power.addresses.driver_registry import problems
from lpirc_power.cli.boundary import to_stderr
from lpirc_power.cli.options import json_option
from lpirc_power.errors import NamedMeterError

if TYPE_CHECKING:
    from lpirc_power.addresses.meter_search import Found, Search


class NothingFound(NamedMeterError):
    """The search found neither an instrument nor a serial port."""

    CODE = "meter-not-found"


@click.command(short_help="List the meters that answer, with their addresses.")
@json_option
def find(as_json: bool) -> None:
    """List what answers on USB, on the network and at serial ports, each with the ADDRESS to give to other commands.

    On USB the search looks for devices of Yokogawa. On the network it looks for instruments that speak VXI-11, by a
    broadcast, which routers do not pass on. It asks an instrument for its identity if that disturbs nobody, but never
    a serial port. It does not search GPIB. Installed drivers of other makers list their own meters.
    """
    # VISA takes a fifth of a second to import.
    from lpirc_power.addresses.meter_search import search

    for problem in problems():
        to_stderr(f"meter: {problem}")
    result = search()
    if not result.found:
        raise NothingFound(_silence(result))
    if as_json:
        click.echo(json.dumps(asdict(result), indent=2))
        return
    for one in result.found:
        click.echo("\n".join(_lines(one)))
    if not any(one.is_meter for one in result.found):
        to_stderr(f"meter: {_silence(result)}")


def _lines(found: Found) -> list[str]:
    if found.said is None:
        answer = f"not asked: {found.not_asked}"
    elif found.said.isprintable():
        answer = found.said
    else:
        answer = repr(found.said)
    serial = [] if found.serial is None else [f"  serial  {found.serial}"]
    return [found.address, *serial, f"  *IDN?   {answer}"]


def _silence(result: Search) -> str:
    """Return the sentence for an empty search: where it looked, and what to check."""
    looked = ", ".join(result.looked) or "nothing"
    skipped = ""
    if result.not_looked:
        skipped = f" Not searched: {'; '.join(result.not_looked)}."
    return (
        f"No meter has answered; searched: {looked}.{skipped} Check that the meter is switched on and its cable is "
        "connected. The broadcast finds an instrument only if this machine is in the same network and no firewall "
        "blocks UDP port 111. Give the address of a meter in another network as "
        "TCPIP::HOST::INSTR, and of a meter on GPIB as GPIB0::1."
    )
