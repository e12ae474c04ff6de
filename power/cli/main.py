"""The command `meter`: look at a meter, record with one, or be a simulated one."""

from __future__ import annotations

import click

from power.cli.boundary import Boundary
from power.cli.certify import certify
from power.cli.fault import fault
from power.cli.look import probe, zero
from power.cli.ptd import ptd
from power.cli.ranging import range_command
from power.cli.record import record
from power.cli.simulate import simulate
from power.cli.watch import watch


@click.group("meter", cls=Boundary, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="lpirc-referee", prog_name="meter")
def main() -> None:
    """Power meters: look at one, record an energy, find its ranges, certify or simulate one.

    ADDRESS is one of

    \b
      TCPIP::192.168.1.20::INSTR          a meter on the network
      TCPIP::127.0.0.1,5025::INSTR        the same at a given port: a comma
      USB0::0x0B21::0x0025::SERIAL::INSTR a meter on USB
      GPIB0::1::INSTR@ivi                 any VISA address; @ivi takes the VISA
                                          library of a vendor, @py (default) pyvisa-py
      sim:  sim:steps:2W@5s,9W@10s        a simulated meter started on the spot;
      sim:csv:FILE.csv                    this one measures a recording again
      rapl:  hwmon:                       sensors of this machine, not official

    Every failure is one sentence on stderr and exit code 1; 2 is a wrong option.
    """  # noqa: D301  click wants the character itself


for _command in (probe, watch, record, range_command, zero, certify, ptd, simulate, fault):
    main.add_command(_command)
