"""`meter watch`: follow a meter's readings without changing its settings."""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections.abc import Iterator
from typing import Final

import click

from lpirc_power.cli.boundary import to_stderr
from lpirc_power.cli.options import address_argument, element_option
from lpirc_power.clocks import real_clocks
from lpirc_power.errors import MeterChanged, MeterError
from lpirc_power.meter import Reading
from lpirc_power.report.reading_facts import reading_facts, reading_line
from lpirc_power.sampling.meter_session import MeterSession
from lpirc_power.sampling.polling import updates

RETRY_S: Final = 0.5


@click.command(short_help="Show every update of a meter.")
@address_argument
@click.option(
    "--count",
    type=click.IntRange(1),
    help="End after this many readings; default: at Ctrl-C.",
)
@element_option
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON object per reading, each on its own line.",
)
def watch(address: str, count: int | None, element: str, as_json: bool) -> None:
    """Show every update of the meter at ADDRESS without changing its settings or its integrator.

    This does not disturb a run with the meter, whichever element the run measures.

    The command prints one line per reading. It reports a lost link on stderr and opens it again. Ctrl-C ends it.
    """
    session = MeterSession(address, element, real_clocks())
    with contextlib.closing(session), contextlib.suppress(KeyboardInterrupt):
        for reading in itertools.islice(_readings(session, element), count):
            click.echo(
                json.dumps(reading_facts(reading)) if as_json else reading_line(reading)
            )


def _readings(session: MeterSession, element: str) -> Iterator[Reading]:
    """Yield a reading for each update, forever. Raises if no meter answers at first, or later a different one."""
    known = lost = False
    while True:
        try:
            meter = session.untouched()
            meter.look(element)
            if lost:
                to_stderr(f"meter: The meter {meter.identity} is back.")
            known = True
            lost = False
            interval_s = meter.status().update_interval_s
            yield from updates(meter.read_update, interval_s, time.sleep, flagged=False)
        except MeterError as error:
            session.drop()
            if not known or isinstance(error, MeterChanged):
                raise
            if not lost:
                to_stderr(f"meter: {error.sentence} Trying again; Ctrl-C ends.")
            lost = True
        time.sleep(RETRY_S)
