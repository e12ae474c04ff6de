"""The command `meter`: probe a meter, record with one, or simulate one."""

from __future__ import annotations

import importlib
from typing import Final, cast

import click

from lpirc_power.cli.boundary import Boundary
from lpirc_power.cli.suggestions import closest

COMMANDS: Final = {
    "certify": "certify.certify",
    "check": "check.check",
    "compare": "compare.compare",
    "export": "export.export",
    "fault": "fault.fault",
    "find": "find.find",
    "loop": "loop.loop",
    "mark": "mark.mark",
    "probe": "look.probe",
    "ptd": "ptd.ptd",
    "range": "ranging.range_command",
    "record": "record.record",
    "report": "report.report",
    "simulate": "simulate.simulate",
    "unlock": "unlock.unlock",
    "watch": "watch.watch",
    "zero": "look.zero",
}
"""Module of each subcommand; only the called one is imported, so a simulator starts fast."""


class Commands(Boundary):
    """Click group that imports a subcommand when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the subcommands."""
        return list(COMMANDS)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the subcommand that is named; for an unknown one, name the one that may be meant, or all."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            # click knows only subcommands that are imported already.
            if args[0].startswith("-"):
                raise
            meant = closest(args[0], COMMANDS)
            known = f"The commands are {', '.join(COMMANDS)}."
            advice = known if meant is None else f"Did you mean {meant!r}?"
            raise click.UsageError(f"{error.message} {advice}", ctx) from error

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the subcommand of the given name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(".")
        return cast(
            "click.Command",
            getattr(importlib.import_module(f"lpirc_power.cli.{module}"), name),
        )


@click.group(
    "meter", cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(
    package_name="lpirc-power", prog_name="meter", message="%(prog)s %(version)s"
)
def main() -> None:
    """Find, probe, record with, certify or simulate a power meter.

    ADDRESS is one of

    \b
      TCPIP::192.168.1.20::INSTR          a meter on the network
      TCPIP::127.0.0.1,5025::INSTR        the same, at a given port
      USB0::0x0B21::0x0025::INSTR         the one meter on USB
      USB0::0x0B21::0x0025::SERIAL::INSTR one of several; `meter find` lists them
      ASRL/dev/ttyUSB0::INSTR?baud=9600   a meter on RS-232; ASRL3::INSTR is COM3
      GPIB0::1                            a meter on GPIB
      GPIB0::1::INSTR@ivi                 any of these by the VISA library of a
                                          vendor; @py (default) is pyvisa-py
      GPIB0::1::INSTR@FILE.yaml@sim       an instrument of pyvisa-sim
      sim:  sim:steps:2W@5s,9W@10s        a simulated meter started on the spot;
      sim:csv:FILE.csv                    this one measures a recording again
      rapl:  hwmon:                       sensors of this machine, not official
      SCHEME:...                          a meter of another maker, whose driver
                                          is installed

    A failure prints one sentence on stderr, with exit code 1; the exit code of a wrong option is 2.
    """  # noqa: D301  click wants the character itself
