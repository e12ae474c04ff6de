"""`meter probe` and `meter zero`: show a meter without changing its settings, and compensate its zero level."""

from __future__ import annotations

import json
import math
from typing import Final

import click

from lpirc_power.addresses.meter_address import limits_at, open_meter, standing
from lpirc_power.cli.options import address_argument, element_option, json_option
from lpirc_power.clocks import Clocks, real_clocks
from lpirc_power.meter import Meter, Reading
from lpirc_power.report.probe_report import Probe, probe_facts, probe_lines

LONGEST_WAIT_S: Final = 3.0
POLL_S: Final = 0.05


@click.command(short_help="Show which meter answers, and its settings.")
@address_argument
@element_option
@json_option
def probe(address: str, element: str, as_json: bool) -> None:
    """Show which meter answers at ADDRESS, and how it measures.

    The output has the meter's identity, its settings and their possible values, the integrator, a reading with its
    accuracy, and the errors queued in the meter; reading them clears the queue. The command changes no setting of the
    measurement and disturbs no run.
    """
    clocks = real_clocks()
    with open_meter(address, clocks) as meter:
        meter.look(element)
        status = meter.status()
        reading = _measured(meter, clocks, 2.0 * status.update_interval_s)
        counts = standing(meter.identity, address)
        found = Probe(
            meter.identity,
            counts,
            status,
            meter.choices(),
            meter.peaks(),
            reading,
            element,
            limits_at(address, meter.identity),
        )
    click.echo(
        json.dumps(probe_facts(found), indent=2)
        if as_json
        else "\n".join(probe_lines(found))
    )


def _measured(meter: Meter, clocks: Clocks, longest_s: float) -> Reading:
    """Return a reading, waiting for data: a meter has none before its first update after power-on."""
    deadline_s = clocks.monotonic() + min(longest_s, LONGEST_WAIT_S)
    reading = meter.read()
    while math.isnan(reading.power_w) and clocks.monotonic() < deadline_s:
        clocks.pause(POLL_S)
        reading = meter.read()
    return reading


@click.command(short_help="Compensate the zero level.")
@address_argument
@json_option
def zero(address: str, as_json: bool) -> None:
    """Compensate the zero level of the meter at ADDRESS, after half an hour of warming up.

    The meter makes the zero internally, so the load may stay connected and switched on. Repeat this when the
    temperature of the room has changed, and before measuring small powers. The meter refuses it while it integrates.
    """
    # That the meter makes the zero inside itself, and the half hour: as other meters of this maker do it; the page of
    # the WT300's own manual was not at hand.
    with open_meter(address, real_clocks()) as meter:
        meter.zero()
        identity = meter.identity
    done = f"The zero level of the meter {identity} is compensated."
    click.echo(
        json.dumps({"zero": "compensated", "meter": str(identity)}) if as_json else done
    )
