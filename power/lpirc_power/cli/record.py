"""`meter record`: log a meter's readings and print the energy, for a time or while a program runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from lpirc_power.cli.boundary import StatedFailure, warnings_printed
from lpirc_power.cli.options import (
    DURATION,
    address_argument,
    json_option,
    require_one,
    setup_options,
)
from lpirc_power.clocks import real_clocks
from lpirc_power.errors import MeterError
from lpirc_power.recording_run.course import Course
from lpirc_power.recording_run.recorder import Order
from lpirc_power.recording_run.single_run import recorded
from lpirc_power.report.marked_report import marked_facts, marked_lines
from lpirc_power.report.recording_report import recorded_facts, recorded_lines
from lpirc_power.sampling.polling import settling_at_least_s

WORTH_SAYING_S = 3.0
"""Waiting time after which the command prints the reason for waiting."""


def _file(_ctx: click.Context, _param: click.Parameter, path: Path) -> Path:
    if str(path) == "-":
        raise click.BadParameter(
            "a recording cannot be written to stdout; name a file. "
            "`meter watch` prints readings to stdout, as JSON with --json."
        )
    return path


@click.command(short_help="Record a run to a CSV file and print its energy.")
@address_argument
@click.argument("command", nargs=-1)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    callback=_file,
    help="The CSV file to write.",
    metavar="FILE",
)
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
@click.option(
    "--duration",
    type=DURATION,
    help="Record for this many seconds; default: until Ctrl-C.",
)
@click.option(
    "--idle",
    "idle_s",
    type=DURATION,
    help="First measure the idle power for this many seconds.",
)
@click.option(
    "--take-over",
    is_flag=True,
    help="Use the meter even if it is integrating or shows an energy that was not reset; that energy is lost.",
)
@click.option(
    "--marks",
    "marks_path",
    type=click.Path(path_type=Path),
    help="Take marks at a socket of this path; default: at one of its own, for COMMAND.",
    metavar="PATH",
)
@setup_options
@json_option
@click.pass_context
def record(
    ctx: click.Context,
    /,
    *,
    command: tuple[str, ...],
    duration: float | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Record the meter at ADDRESS to a CSV file and print the energy.

    \b
      meter record ADDRESS -o run.csv --duration 60
      meter record ADDRESS -o run.csv --voltage-range 150 --current-range 0.5 -- ./detect images

    The meter's integrator runs for as long as COMMAND does, or for --duration, or until Ctrl-C. Each reading is written
    to the file as it arrives. At the end the command restores the meter's former settings.

    COMMAND's output goes to stdout, and the result to stderr; with --json, the result is the last line of stdout.

    The exit code is COMMAND's if that is not 0. Otherwise it is 1, with one sentence on stderr, if there is no energy,
    if a check of severity error failed, or if the file is incomplete; else it is 0.
    """  # noqa: D301  click wants the character itself
    require_one(duration, command)
    order = Order(duration_s=duration, command=command, **given)
    clocks = real_clocks()
    run = Course(duration, command, clocks.monotonic)
    settling_s = settling_at_least_s(0.0, order.setup.update_interval_s)
    if settling_s >= WORTH_SAYING_S:
        click.echo(
            f"Recording begins when the meter has settled, in {settling_s:g} s or more.",
            err=True,
        )
    try:
        with warnings_printed():
            found, problem = recorded(order, run, clocks)
    except MeterError as error:
        raise StatedFailure(error.sentence, run.exit_code or 1) from error
    if as_json:
        facts = recorded_facts(found) | {"marks": marked_facts(found)}
        click.echo(json.dumps(facts))
    else:
        told = [*recorded_lines(found), *marked_lines(found)]
        click.echo("\n".join(told), err=bool(command))
    if problem:
        raise StatedFailure(problem, run.exit_code or 1)
    ctx.exit(run.exit_code)
