"""`meter watch`: follow a meter's readings without changing its settings."""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections.abc import Iterator
from typing import Final, Literal

import click

from lpirc_power.cli.boundary import to_stderr
from lpirc_power.cli.options import WholeNumber, address_argument, element_option
from lpirc_power.cli.page_option import live_page, page_option
from lpirc_power.clocks import real_clocks
from lpirc_power.errors import MeterChanged, MeterError
from lpirc_power.meter import Identity, Reading
from lpirc_power.recording_run.watcher import Watcher
from lpirc_power.report.reading_facts import reading_facts, reading_line
from lpirc_power.sampling.meter_session import MeterSession
from lpirc_power.sampling.outages import Outages
from lpirc_power.sampling.polling import updates
from lpirc_power.sampling.sampler import LinkEvent

RETRY_S: Final = 0.5
WATCHED: Final = "watch"
"""Name of the meter on the live page, where a recording has that of its file."""


@click.command(short_help="Show every update of a meter.")
@address_argument
@click.option(
    "--count",
    type=WholeNumber(1),
    help="End after this many readings; default: at Ctrl-C.",
)
@element_option
@page_option
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON object per reading, each on its own line.",
)
def watch(
    address: str,
    count: int | None,
    element: str,
    page_port: int | None,
    as_json: bool,
) -> None:
    """Show every update of the meter at ADDRESS without changing its settings or its integrator.

    This does not disturb a run with the meter, whichever element the run measures.

    The command prints one line per reading. It reports a lost link on stderr and opens it again. Ctrl-C ends it.
    """
    session = MeterSession(address, element, real_clocks())
    with (
        contextlib.closing(session),
        contextlib.suppress(KeyboardInterrupt),
        live_page(page_port) as watcher,
    ):
        readings = _readings(session, element, watcher)
        for reading in itertools.islice(readings, count):
            watcher.on_reading(WATCHED, reading)
            click.echo(
                json.dumps(reading_facts(reading)) if as_json else reading_line(reading)
            )


def _readings(
    session: MeterSession, element: str, watcher: Watcher
) -> Iterator[Reading]:
    """Yield a reading for each update, forever. Raises if no meter answers at first, or later a different one."""
    known = False
    link = _Link(watcher)
    while True:
        try:
            meter = session.untouched()
            meter.look(element)
            if not known:
                watcher.on_armed(WATCHED, meter.identity)
            known = True
            interval_s = meter.status().update_interval_s
            for reading in updates(
                meter.read_update, interval_s, time.sleep, flagged=False
            ):
                link.back(meter.identity)
                yield reading
        except MeterError as error:
            session.drop()
            if not known or isinstance(error, MeterChanged):
                raise
            link.lost(error.sentence)
        time.sleep(RETRY_S)


class _Link:
    """Tells a person and the watcher of the link; it is back when a reading has come, not when it could be opened."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._clocks = real_clocks()
        self._outages = Outages()

    def lost(self, sentence: str) -> None:
        """Tell of the loss, once for each."""
        was_lost = self._outages.is_lost
        told = f"{sentence} Trying again; Ctrl-C ends."
        self._say(self._outages.lost(told, self._clocks.monotonic()))
        if not was_lost:
            self._note("meter-lost", sentence)

    def back(self, identity: Identity) -> None:
        """Tell that the meter answers again, if it was lost."""
        if not self._outages.is_lost:
            return
        sentence = f"The meter {identity} is back."
        self._say(self._outages.back(sentence, self._clocks.monotonic()))
        self._note("meter-back", sentence)

    def _say(self, line: str) -> None:
        if line:
            to_stderr(f"meter: {line}")

    def _note(self, kind: Literal["meter-lost", "meter-back"], sentence: str) -> None:
        now_s = self._clocks.monotonic()
        event = LinkEvent(kind, now_s, self._clocks.utcnow(), sentence)
        self._watcher.on_link(WATCHED, event)
