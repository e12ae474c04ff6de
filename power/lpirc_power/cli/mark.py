"""`meter mark`: name a moment or a stretch of the workload that `meter record` measures."""

from __future__ import annotations

import contextlib
import os

import click

from lpirc_power.cli.boundary import warnings_printed
from lpirc_power.cli.meters_and_command import WithCommand
from lpirc_power.clocks import real_clocks
from lpirc_power.marks import marking
from lpirc_power.recording_run.course import Course


@click.command(
    cls=WithCommand,
    short_help="Name a moment or a stretch of what `meter record` measures.",
)
@click.argument("name")
@click.argument("command", nargs=-1)
@click.pass_context
def mark(ctx: click.Context, name: str, command: tuple[str, ...]) -> None:
    """Mark this moment, or the time for which COMMAND runs, as NAME in the recording that is being made.

    \b
      meter record ADDRESS -o run.csv -- sh -c "
        meter mark load -- ./load model
        meter mark ready
        meter mark inference -- ./detect images"

    `meter record` puts the address of its socket into the environment of its COMMAND, as LPIRC_METER_MARKS. It states
    the energy of each name. In Python: `from lpirc_power import mark`, then `with mark("inference"):`.

    The exit code is that of COMMAND. Where no recording listens, there is one warning on stderr, and the exit code is
    the same.
    """  # noqa: D301  click wants the character itself
    sender = marking.Sender(os.environ.get(marking.ENVIRONMENT))
    with warnings_printed(), contextlib.closing(sender):
        if not command:
            marking.instant(name, sender)
            return
        course = Course(None, command, real_clocks().monotonic)
        with course.interruptible(), marking.mark(name, sender), course.running():
            course.wait()
    ctx.exit(course.exit_code)
