"""From an ADDRESS to an open meter; `sim:` starts a simulated one as a child process on the spot."""

from __future__ import annotations

import contextlib
import os
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from typing import Final

from power.clocks import Clocks
from power.errors import MeterError
from power.meter import Meter
from power.transport import Link
from power.wt300 import Wt300

SIMULATOR: Final = "sim:"
DEFAULT_LOAD: Final = "constant:36W"
STARTING_S: Final = 20.0
ENDING_S: Final = 5.0
_FORMS: Final = (
    "A meter on the network is TCPIP::HOST::INSTR; TCPIP::HOST,PORT::INSTR, with a comma, is one at a given "
    "port (HOST:PORT does not mean a port); others are USB0::0x0B21::0x0025::SERIAL::INSTR and "
    "GPIB0::1::INSTR; sim: or sim:LOAD starts a simulated one."
)
_NETWORK: Final = re.compile(r"TCPIP\d*::[^:,\s]+(,\d{1,5})?(::(?!\d+::)[^:\s]+)?::INSTR", re.IGNORECASE)
_OTHER: Final = re.compile(r"(USB|GPIB|ASRL)\d*::?\S*::INSTR", re.IGNORECASE)


class MeterAddress:
    """An address that is good for any number of links, one after another.

    For `sim:` it owns the simulator: started at the first link, reused by later ones, ended by `close`.
    """

    def __init__(self, address: str) -> None:
        """Check the form; MeterError `meter-wrong-address`, with the forms that exist."""
        self.address = address
        self._load: str | None = None
        self._child: subprocess.Popen[str] | None = None
        self._resource = address
        if address == "sim" or address.startswith(SIMULATOR):
            self._load = address.removeprefix("sim").removeprefix(":") or DEFAULT_LOAD
        elif not (_NETWORK.fullmatch(address) or _OTHER.fullmatch(address)):
            raise MeterError(
                "meter-wrong-address", f"{address!r} is not the address of a meter. {_FORMS}", address=address
            )

    def connect(self, clocks: Clocks) -> Meter:
        """Open a link and identify the meter behind it. The caller closes it."""
        link = Link(self._visa_resource())
        try:
            return Wt300(link, clocks)
        except BaseException:
            link.close()
            raise

    def close(self) -> None:
        """End the simulator, if one was started; a second call does nothing."""
        child, self._child = self._child, None
        if child is None:
            return
        child.terminate()
        try:
            child.wait(ENDING_S)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        _close_pipes(child)

    def _visa_resource(self) -> str:
        if self._load is None:
            return self._resource
        if self._child is None:
            self._child, self._resource = _start_simulator(self._load)
        elif self._child.poll() is not None:
            raise MeterError(
                "meter-lost",
                f"The simulated meter started for {self.address} has ended, and its energy with it.",
                address=self.address,
            )
        return self._resource


@contextlib.contextmanager
def open_meter(address: str, clocks: Clocks) -> Iterator[Meter]:
    """Give an identified and attached meter for the length of a with statement."""
    place = MeterAddress(address)
    try:
        meter = place.connect(clocks)
        try:
            meter.attach()
            yield meter
        finally:
            meter.close()
    finally:
        place.close()


def _start_simulator(load: str) -> tuple[subprocess.Popen[str], str]:
    # By module and interpreter, so that it works however the program was started. Its own session: a Ctrl-C
    # at the terminal must not take the meter away before its energy is read; --parent ends it whatever
    # happens to us.
    command = [sys.executable, "-P", "-m", "power", "simulate", "--load", load, "--parent", str(os.getpid())]
    child = subprocess.Popen(  # noqa: S603  our own program
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    line = _first_line(child)
    if line:
        return child, line
    child.kill()
    _, complaint = child.communicate()
    reason = complaint.strip().removeprefix("meter: ") or "It did not start."
    raise MeterError("simulator-failed", f"No simulated meter: {reason}", load=load)


def _first_line(child: subprocess.Popen[str]) -> str:
    if child.stdout is None:
        return ""
    ready, _, _ = select.select([child.stdout], [], [], STARTING_S)
    return child.stdout.readline().strip() if ready else ""


def _close_pipes(child: subprocess.Popen[str]) -> None:
    for pipe in (child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()
