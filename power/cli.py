"""The command `meter`: look at a meter, or be a simulated one."""

from __future__ import annotations

import contextlib
import json
import time
from datetime import UTC, datetime
from typing import Any, Final

import click

from power.clocks import Clocks
from power.errors import MeterError

DEFAULT_SERIAL: Final = "SIMULATED"


class StatedFailure(click.ClickException):
    """A meter's failure on the command line: one line on stderr, exit code 1."""

    def show(self, file: Any = None) -> None:
        """Print the line."""
        click.echo(f"meter: {' '.join(self.message.split())}", err=True)


class MeterCommands(click.Group):
    """The error boundary: turns MeterError into its sentence."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except MeterError as error:
            raise StatedFailure(error.sentence) from error


@click.group(cls=MeterCommands)
def main() -> None:
    """Power meters: probe and watch one, or simulate one.

    ADDRESS is a VISA resource such as TCPIP::192.168.1.20::INSTR or TCPIP::127.0.0.1,5025::INSTR, or sim:
    (sim:LOAD) for a simulated meter started on the spot.
    """


@main.command()
@click.option("--port", default=0, show_default="any free", type=click.IntRange(0, 65535), help="TCP port.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--load", default="constant:36W", show_default=True, help="What to measure.")
@click.option("--serial", default=DEFAULT_SERIAL, show_default=True, help="Serial number in *IDN?.")
@click.option("--parent", type=click.IntRange(1), help="End when this process ends.")
def simulate(port: int, host: str, load: str, serial: str, parent: int | None) -> None:
    """Be a WT310 behind VXI-11; prints its VISA address and serves until SIGTERM or Ctrl-C.

    Loads: constant:36W, steps:2W@5s,9W@10s, csv:FILE, cpu:PID,idle=2W,busy=9W.
    """
    # Imported here, as the driver is below: a simulator must start fast, and pyvisa takes its time.
    from power.simulator.process import serve

    def announce(address: str) -> None:
        click.echo(address)

    serve(
        host=host, port=port, load=load, serial=serial, parent=parent, clock=time.monotonic, announce=announce
    )


@main.command()
@click.argument("address")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout.")
def probe(address: str, as_json: bool) -> None:
    """Show who answers at ADDRESS: identity, settings, integrator, a reading, and its queued errors."""
    from power.addresses import open_meter
    from power.report import probe_facts, probe_lines

    with open_meter(address, _clocks()) as meter:
        status, reading = meter.status(), meter.read()
        facts = probe_facts(meter.identity, status, reading)
    click.echo(json.dumps(facts, indent=2) if as_json else "\n".join(probe_lines(facts)))


@main.command()
@click.argument("address")
@click.option("--count", type=click.IntRange(1), help="End after so many readings; without it, with Ctrl-C.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per reading and line.")
def watch(address: str, count: int | None, as_json: bool) -> None:
    """Print a line for every update of the meter at ADDRESS, leaving its integrator alone."""
    from power.addresses import open_meter
    from power.report import reading_facts, reading_line

    shown = 0
    with contextlib.suppress(KeyboardInterrupt), open_meter(address, _clocks()) as meter:
        pause_s = meter.status().update_interval_s / 10
        while count is None or shown < count:
            reading, is_new = meter.read_update()
            if is_new:
                shown += 1
                click.echo(json.dumps(reading_facts(reading)) if as_json else reading_line(reading))
            else:
                time.sleep(pause_s)


def _clocks() -> Clocks:
    return Clocks(time.monotonic, lambda: datetime.now(UTC), time.sleep)
