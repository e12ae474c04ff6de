"""`meter loop`: add the energy of an inference to a benchmark's output."""

from __future__ import annotations

import json
import tempfile
from typing import IO

import click

from lpirc_power.cli.meters_and_command import WithCommand
from lpirc_power.cli.options import DURATION, address_argument
from lpirc_power.clocks import real_clocks
from lpirc_power.errors import MeterError
from lpirc_power.recording_run.course import Course
from lpirc_power.sampling.inference_loop import metered


class _Failed(Exception):
    """The program itself failed, and its stdout has the reason."""


@click.command(
    cls=WithCommand,
    short_help="Add the energy of an inference to what a benchmark prints.",
)
@address_argument
@click.argument("command", nargs=-1, required=True)
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
@click.pass_context
def loop(
    ctx: click.Context,
    address: str,
    command: tuple[str, ...],
    idle_s: float | None,
    *,
    take_over: bool,
) -> None:
    """Sample the meter at ADDRESS while COMMAND runs, and print COMMAND's output with `energy` added.

    \b
      meter loop ADDRESS -- lpirc-harness bench m.tflite --images DIR --energy-loop-s 10 --json

    COMMAND prints a result document, one JSON object. Its `energy_loop` states the time during which COMMAND repeated
    one inference. If the meter fails, the output is {"error": {"code", "sentence", "facts"}}, the form that COMMAND
    uses for its own failures, and the exit code is 1. If COMMAND fails, its output and its exit code are passed on.
    """  # noqa: D301  click wants the character itself
    clocks = real_clocks()
    with tempfile.TemporaryFile() as output:
        run = Course(None, command, clocks.monotonic, output)

        def bench() -> bytes:
            return _printed(run, output)

        try:
            with run.interruptible():
                content = metered(
                    address,
                    bench,
                    clocks.monotonic,
                    clocks.utcnow,
                    idle_s=idle_s,
                    take_over=take_over,
                    require_going_on=run.require_going_on,
                )
        except _Failed as failed:
            click.echo(failed.args[0], nl=False)
            ctx.exit(run.exit_code)
        except MeterError as error:
            failure = {"code": error.code, "sentence": error.sentence, "facts": {}}
            click.echo(json.dumps({"error": failure}))
            ctx.exit(1)
    click.echo(content)


def _printed(run: Course, output: IO[bytes]) -> bytes:
    """Run the program until it ends and return its output. Raises _Failed or KeyboardInterrupt."""
    with run.running():
        run.wait()
    run.require_going_on()
    output.seek(0)
    content = output.read()
    if run.exit_code:
        raise _Failed(content)
    return content
