"""`meter range`: find the fixed ranges for a load by a run with automatic ranges."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Callable
from typing import TypeVar

import click

from lpirc_power.addresses.meter_address import limits_at, standing
from lpirc_power.cli.boundary import to_stderr, warnings_printed
from lpirc_power.cli.meters_and_command import WithCommand
from lpirc_power.cli.options import (
    DURATION,
    Figure,
    address_argument,
    json_option,
    require_one,
    setup_options,
)
from lpirc_power.clocks import real_clocks
from lpirc_power.errors import MeterError, MeterRangeError, PassingMeterError
from lpirc_power.meter import (
    ALL_ELEMENTS,
    Meter,
    Peaks,
    Reading,
    Setup,
    require_no_energy,
)
from lpirc_power.recording_run.course import Course
from lpirc_power.report.ranging_report import Ranged, ranged_facts, ranged_lines
from lpirc_power.sampling.meter_session import MeterSession
from lpirc_power.sampling.outages import Outages
from lpirc_power.sampling.polling import updates
from lpirc_power.wt300.range_fit import Drawn, drawn

Answer = TypeVar("Answer")


@click.command("range", cls=WithCommand, short_help="Find the fixed ranges for a load.")
@address_argument
@click.argument("command", nargs=-1)
@click.option(
    "--duration",
    type=DURATION,
    help="Watch the load for this many seconds; default: until Ctrl-C.",
)
@click.option(
    "--headroom",
    type=Figure("FACTOR", least=1.0),
    default=1.2,
    show_default=True,
    help="Headroom above the largest values seen.",
)
@setup_options
@json_option
@click.pass_context
def range_command(
    ctx: click.Context,
    *,
    address: str,
    command: tuple[str, ...],
    duration: float | None,
    headroom: float,
    setup: Setup,
    as_json: bool,
) -> None:
    """Find the fixed ranges for the load at ADDRESS, by a run with automatic ones.

    \b
      meter range ADDRESS --duration 60
      meter range ADDRESS -- ./detect images

    Run the load as in the contest, at its highest power. The command proposes the smallest ranges that hold the
    largest values and peaks with headroom. At the end it restores the meter's former settings.

    COMMAND's output goes to stdout, and the result to stderr; with --json, the result is the last line of stdout. The
    exit code is COMMAND's, or 1 after a failure of the meter.
    """  # noqa: D301  click wants the character itself
    if setup.element == ALL_ELEMENTS:
        raise click.UsageError(
            "Ranges are found for one element: name the one with the largest load."
        )
    require_one(duration, command)
    run = Course(duration, command, real_clocks().monotonic)
    with run.interruptible():
        found = _ranged(address, setup, headroom, run)
    if as_json:
        click.echo(json.dumps(ranged_facts(found)))
    else:
        click.echo("\n".join(ranged_lines(found)), err=bool(command))
    ctx.exit(run.exit_code)


def _ranged(address: str, setup: Setup, headroom: float, run: Course) -> Ranged:
    with (
        contextlib.closing(
            MeterSession(address, setup.element, real_clocks())
        ) as session,
        warnings_printed(),
    ):
        try:
            require_no_energy(session.untouched())
            session.configure(setup)
            identity = session.meter().identity
            choices = session.meter().choices()
            if not choices.voltage_ranges_v or not choices.current_ranges_a:
                raise MeterRangeError(
                    f"The meter {identity} has no ranges to choose from."
                )
            run.require_going_on()
            with run.running():
                readings, peaks = _taken(session, setup, run)
        finally:
            session.restore_settings()
    load = drawn(readings, peaks)
    if math.isnan(load.voltage_v + load.current_a):
        raise _nothing_seen(load)
    counts = standing(identity, address)
    limits = limits_at(address, identity)
    return Ranged(identity, counts, setup, choices, load, headroom, limits)


def _nothing_seen(load: Drawn) -> MeterError:
    advice = "let the ranging run last longer"
    if load.flagged:
        advice = f"{load.flagged} were over range or clipped: use larger ranges, or automatic ones"
    return MeterError(
        "ranging-no-data",
        f"None of {load.readings} readings shows both voltage and current; {advice}.",
    )


def _taken(
    session: MeterSession, setup: Setup, run: Course
) -> tuple[list[Reading], list[Peaks]]:
    """Return every update and its peaks until the run ends.

    A lost link loses readings but does not end the run.
    """
    outages = Outages()
    monotonic = real_clocks().monotonic

    def say(line: str) -> None:
        if line:
            to_stderr(f"meter: {line}")

    def asked(ask: Callable[[Meter], Answer]) -> Answer | None:
        try:
            meter = session.meter()
            if outages.is_lost and meter.changes(setup):
                session.configure(setup)  # it was switched off and on
            answer = ask(meter)
        except PassingMeterError as error:
            session.drop()
            told = f"{error.sentence} Trying again until the end of the run."
            say(outages.lost(told, monotonic()))
            return None
        say(outages.back(f"The meter {meter.identity} is back.", monotonic()))
        return answer

    readings = []
    peaks = []
    for reading in updates(
        lambda: asked(lambda meter: meter.read_update()),
        setup.update_interval_s,
        run.wait,
    ):
        readings.append(reading)
        if (found := asked(lambda meter: meter.peaks())) is not None:
            peaks.append(found)
    return readings, peaks
