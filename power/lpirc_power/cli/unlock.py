"""`meter unlock`: unlock a meter's keys after the program that locked them has died."""

from __future__ import annotations

import json

import click

from lpirc_power.addresses.meter_address import open_meter
from lpirc_power.cli.options import address_argument, json_option
from lpirc_power.clocks import real_clocks
from lpirc_power.errors import MeterRefused
from lpirc_power.meter import IntegratorState


@click.command(short_help="Unlock the keys of a meter's panel.")
@address_argument
@json_option
def unlock(address: str, as_json: bool) -> None:
    """Unlock the keys of the meter at ADDRESS.

    A run locks the keys from arming until its energy is read, and then unlocks them. Use this command if the program
    was killed before that. Nothing else in the meter changes. If you unlock the keys during a run, a check of that run
    reports it.
    """
    with open_meter(address, real_clocks()) as meter:
        has_lock = meter.unlock_panel()
        state = meter.state()
        identity = meter.identity
    if not has_lock:
        raise MeterRefused(
            f"The meter {identity} has no command that locks its keys, so there is nothing to unlock."
        )
    done = f"The keys of the meter {identity} are unlocked."
    if state is IntegratorState.START:
        done += " The meter is integrating. If a run uses the meter, the checks of the run report the unlocked keys."
    click.echo(
        json.dumps({"panel": "unlocked", "meter": str(identity)}) if as_json else done
    )
