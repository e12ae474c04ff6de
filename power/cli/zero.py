"""`meter zero`: compensate the zero level."""

from __future__ import annotations

import json

import click

from power.cli.clocks import real_clocks
from power.cli.options import address_argument, json_option


@click.command(short_help="Compensate the zero level.")
@address_argument
@json_option
def zero(address: str, as_json: bool) -> None:
    """Compensate the zero level of the meter at ADDRESS, after half an hour of warming up.

    The meter makes the zero inside itself, so the load may stay connected and switched on. Do it again when the room
    has become warmer or colder, and before a series of small powers. Refused while the meter integrates.
    """
    # That the meter makes the zero inside itself, and the half hour: as other meters of this maker do it; the page of
    # the WT300's own manual was not at hand.
    from power.addresses import open_meter

    with open_meter(address, real_clocks()) as meter:
        meter.zero()
        identity = meter.identity
    done = f"The zero level of the meter {identity} is compensated."
    click.echo(json.dumps({"zero": "compensated", "meter": str(identity)}) if as_json else done)
