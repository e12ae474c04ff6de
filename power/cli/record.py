"""`meter record`: log a meter's readings and tell the energy, for a time or while a program runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from power.cli.boundary import StatedFailure
from power.cli.clocks import real_clocks
from power.cli.options import DURATION, json_option, setup_options
from power.cli.program import Course
from power.meter import Setup

if TYPE_CHECKING:
    from power.recorded import Recorded


@click.command(short_help="Record a run to a CSV file and tell its energy.")
@click.argument("address", required=False)
@click.argument("command", nargs=-1)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="The CSV file to write.",
    metavar="FILE",
)
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
@click.option("--duration", type=DURATION, help="Record for so many seconds; else until Ctrl-C.")
@click.option("--idle", type=DURATION, help="First measure the idle power for so many seconds.")
@click.option("--zero", is_flag=True, help="First compensate the meter's zero level.")
@click.option(
    "--take-over", is_flag=True, help="Stop a meter that integrates for somebody else; its energy is lost."
)
@setup_options
@click.option(
    "--convert",
    type=click.Path(path_type=Path),
    metavar="OLD",
    help="Convert a recording of the 2015 driver.",
)
@json_option
@click.pass_context
def record(
    ctx: click.Context,
    *,
    address: str | None,
    command: tuple[str, ...],
    output: Path,
    force: bool,
    duration: float | None,
    idle: float | None,
    zero: bool,
    take_over: bool,
    setup: Setup,
    convert: Path | None,
    as_json: bool,
) -> None:
    """Record the meter at ADDRESS to a CSV file and tell the energy.

    \b
      meter record ADDRESS -o run.csv --duration 60
      meter record ADDRESS -o run.csv --voltage-range 150 --current-range 0.5 -- ./detect images
      meter record --convert wt310_2015.csv -o run.csv

    The meter's integrator runs for as long as COMMAND does, or for --duration, or until Ctrl-C. Every reading is in the
    file as it comes. At the end the meter's former settings are restored.

    COMMAND's output stays its own: the result then goes to stderr, with --json to the last line of stdout. The exit
    code is COMMAND's, or 1 if the meter failed.
    """  # noqa: D301  click wants the character itself
    from power.cli import recording_run

    if convert is not None:
        if address is not None:
            raise click.UsageError("--convert reads a file; it takes no ADDRESS and no COMMAND.")
        click.echo(recording_run.converted(convert, output, force=force, as_json=as_json))
        return
    if address is None:
        raise click.UsageError("Missing argument 'ADDRESS'.")
    run = Course(duration, command, real_clocks().monotonic)
    recorded, problem = recording_run.recorded(
        recording_run.Order(address, setup, output, force, idle, zero, take_over), run
    )
    _print(recorded, as_json=as_json, aside=bool(command))
    if problem:
        raise StatedFailure(problem)
    ctx.exit(run.exit_code)


def _print(recorded: Recorded, *, as_json: bool, aside: bool) -> None:
    from power.recorded import recorded_facts, recorded_lines

    if as_json:
        click.echo(json.dumps(recorded_facts(recorded)))
    else:
        click.echo("\n".join(recorded_lines(recorded)), err=aside)
