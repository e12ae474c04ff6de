"""`meter simulate`: run a simulated meter."""

from __future__ import annotations

import time
from typing import Any

import click

from lpirc_power.cli.options import WholeNumber
from lpirc_power.meter import SIMULATED
from lpirc_power.simulator.instrument import command_lines
from lpirc_power.simulator.instrument_state import DEFAULT_DIALECT, DIALECTS, WITHOUT
from lpirc_power.simulator.simulated_models import MODELS
from lpirc_power.simulator.simulator_process import Plan, serve

NAMES = [model.name for model in MODELS]


@click.command(short_help="Be a simulated meter.")
@click.option(
    "--port",
    default=0,
    show_default="any free",
    type=WholeNumber(0, 65535),
    help="TCP port.",
)
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on."
)
@click.option(
    "--load", default="constant:36W", show_default=True, help="The load to measure."
)
@click.option(
    "--model",
    default=NAMES[0],
    show_default=True,
    type=click.Choice(NAMES, case_sensitive=False),
    help="The model to simulate.",
)
@click.option(
    "--dialect",
    default=DEFAULT_DIALECT,
    show_default=True,
    type=click.Choice(list(DIALECTS), case_sensitive=False),
    help="Format of the answers: as in a WT310's log, as in the manuals, or as in a WT310E's log. With free-running, "
    "the updates do not depend on the integrator.",
)
@click.option(
    "--without",
    multiple=True,
    type=click.Choice(list(WITHOUT), case_sensitive=False),
    help="Leave out a feature that a real meter may lack: the panel's lock, all status filters except the filter of "
    "updates, or the events of these filters. May be repeated.",
)
@click.option(
    "--serial",
    default=SIMULATED,
    show_default=True,
    help="Serial number in the answer to *IDN?, after SIMULATED-.",
)
@click.option(
    "--control",
    "control_port",
    type=WholeNumber(0, 65535),
    help="Accept faults on this TCP port of 127.0.0.1 (0: any free one); see `meter fault`.",
)
@click.option(
    "--portmapper", is_flag=True, help="Answer on port 111 too, for TCPIP::HOST::INSTR."
)
@click.option(
    "--pty",
    is_flag=True,
    help="Also answer on a pty, for programs that know only serial ports.",
)
@click.option("--parent", type=WholeNumber(1), help="End when this process ends.")
@click.option(
    "--commands",
    is_flag=True,
    help="Print the commands of the simulated meter, and exit.",
)
def simulate(*, parent: int | None, commands: bool, **plan: Any) -> None:
    """Simulate a meter of the WT300 family over VXI-11: print its VISA address and serve until SIGTERM or Ctrl-C.

    With --pty the next line is `serial PATH`, with --control `control HOST:PORT`.

    Loads: constant:36W, steps:2W@5s,9W@10s, noise:36W,sd=0.5W,seed=1, csv:FILE, cpu:PID,idle=2W,busy=9W,
    while:FILE,idle=2W,busy=9W: the load works as long as FILE is there.
    """
    if commands:
        click.echo("\n".join(command_lines()))
        return
    serve(Plan(**plan), parent=parent, clock=time.monotonic, announce=click.echo)
