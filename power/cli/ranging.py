"""`meter range`: a ranging run, which finds the fixed ranges for a load."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import click

from power.cli.boundary import tell
from power.cli.clocks import real_clocks
from power.cli.options import DURATION, Figure, address_argument, json_option, setup_options
from power.cli.program import Course
from power.errors import MeterError
from power.meter import ALL_ELEMENTS, Setup

if TYPE_CHECKING:
    from power.meter import Meter, Peaks, Reading
    from power.ranged import Ranged
    from power.ranging import Drawn

POLLS_PER_UPDATE: Final = 10


@click.command("range", short_help="Find the fixed ranges for a load.")
@address_argument
@click.argument("command", nargs=-1)
@click.option("--duration", type=DURATION, help="Watch the load for so many seconds; else until Ctrl-C.")
@click.option(
    "--headroom",
    type=Figure("FACTOR", least=1.0),
    default=1.2,
    show_default=True,
    help="Room above what was seen.",
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

    Run the load as in the contest, at its hungriest. Proposed are the smallest ranges that hold the largest values and
    peaks with headroom. At the end the meter's former settings are restored.

    COMMAND's output stays its own: the result then goes to stderr, with --json to the last line of stdout. The exit
    code is COMMAND's, or 1 if the meter failed.
    """  # noqa: D301  click wants the character itself
    from power.ranged import ranged_facts, ranged_lines

    if setup.element == ALL_ELEMENTS:
        raise click.UsageError("Ranges are found for one element: name the one with the largest load.")
    run = Course(duration, command, real_clocks().monotonic)
    with run.interruptible():
        found = _ranged(address, setup, headroom, run)
    if as_json:
        click.echo(json.dumps(ranged_facts(found)))
    else:
        click.echo("\n".join(ranged_lines(found)), err=bool(command))
    ctx.exit(run.exit_code)


def _ranged(address: str, setup: Setup, headroom: float, run: Course) -> Ranged:
    from power.addresses import open_meter
    from power.ranged import Ranged
    from power.ranging import drawn

    with open_meter(address, real_clocks()) as meter, _restored(meter):
        meter.attach(setup.element)
        meter.configure(setup)
        choices = meter.choices()
        if not choices.voltage_ranges_v or not choices.current_ranges_a:
            raise MeterError("meter-range", f"The meter {meter.identity} has no ranges to choose from.")
        run.require_going_on()
        readings, peaks = _watched(meter, run)
        identity = meter.identity
    load = drawn(readings, peaks)
    if math.isnan(load.voltage_v + load.current_a):
        raise _nothing_seen(load)
    return Ranged(identity, setup, choices, load, headroom)


def _nothing_seen(load: Drawn) -> MeterError:
    advice = "let the ranging run last longer"
    if load.flagged:
        advice = f"{load.flagged} were over range or clipped: use larger ranges, or automatic ones"
    return MeterError(
        "ranging-no-data",
        f"None of {load.readings} readings tells both voltage and current; {advice}.",
        readings=load.readings,
    )


@contextlib.contextmanager
def _restored(meter: Meter) -> Iterator[None]:
    try:
        yield
    except BaseException:
        try:
            meter.restore()
        except MeterError:
            tell(
                "meter: The meter's former settings could not be put back; it is left as the run had set it."
            )
        raise
    meter.restore()


def _watched(meter: Meter, run: Course) -> tuple[list[Reading], list[Peaks]]:
    """Read the meter, with its peaks, until the course is over."""
    readings: list[Reading] = []
    peaks: list[Peaks] = []
    pause_s = meter.status().update_interval_s / POLLS_PER_UPDATE
    with run.running():
        while not run.wait(pause_s):
            reading, is_new = meter.read_update()
            if is_new:
                readings.append(reading)
                peaks.append(meter.peaks())
    return readings, peaks
