"""The scheme `sim:`: a simulated meter behind VXI-11; its first link starts it as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from typing import IO, Final, cast

from lpirc_power.addresses.visa_address import VisaAddress
from lpirc_power.clocks import Clocks
from lpirc_power.errors import MeterError, MeterLost
from lpirc_power.meter import Meter
from lpirc_power.operating_system import OWN_GROUP
from lpirc_power.scheme import Scheme
from lpirc_power.visa.resources import wrong

DEFAULT_LOAD: Final = "constant:36W"
REPLAYED: Final = "csv"
STARTING_S: Final = 20.0
ENDING_S: Final = 5.0


class SimulatorAddress(Scheme):
    """A load to simulate, such as `constant:36W`, and the simulator's process."""

    def __init__(self, rest: str) -> None:
        """Check the load, but not the file of csv:FILE, which may be made later."""
        super().__init__(rest)
        if rest and not rest.startswith(f"{REPLAYED}:"):
            _require_load(rest)
        self._child: subprocess.Popen[str] | None = None
        self._behind: VisaAddress | None = None

    def connect(self, clocks: Clocks) -> Meter:
        """Start the simulator if it is not running, and open a link to it."""
        if self._child is None or self._behind is None:
            self._child, address = _start_simulator(self.rest or DEFAULT_LOAD)
            self._behind = VisaAddress(address)
        elif self._child.poll() is not None:
            raise MeterLost(
                f"The simulated meter started for sim:{self.rest} has ended; its energy is lost."
            )
        return self._behind.connect(clocks)

    def close(self) -> None:
        """End the simulator, if one was started."""
        child = self._child
        self._child = None
        if child is None:
            return
        child.terminate()
        with child:  # which closes its pipes, and waits
            try:
                child.wait(ENDING_S)
            except subprocess.TimeoutExpired:
                child.kill()

    @staticmethod
    def is_simulated(rest: str) -> bool:
        """Return True: no simulated meter counts in a contest."""
        return True


def _require_load(load: str) -> None:
    from lpirc_power.simulator.loads import parse_load

    try:
        parse_load(load, time.monotonic)
    except MeterError as error:
        why = error.sentence.replace("Did you mean ", "Did you mean sim:")
        raise wrong(f"sim:{load}", why) from error


def _start_simulator(load: str) -> tuple[subprocess.Popen[str], str]:
    # By module and interpreter, to work however the program was started. Its own session: a Ctrl-C
    # at the terminal must not take the meter away before its energy is read; --parent ends it whatever
    # happens to us.
    command = [sys.executable, "-P", "-m", "lpirc_power", "simulate", "--load", load]
    command += ["--parent", str(os.getpid())]
    child = subprocess.Popen(  # noqa: S603  our own program
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        creationflags=OWN_GROUP,
    )
    if line := _first_line(child):
        return child, line
    child.kill()
    _, complaint = child.communicate()
    reason = complaint.strip().removeprefix("meter: ") or "It did not start."
    raise MeterError("simulator-failed", f"No simulated meter: {reason}")


def _first_line(child: subprocess.Popen[str]) -> str:
    """Return the child's first line, or "" if none comes in time.

    A thread reads it, because select on Windows works only with sockets.
    """
    pipe = cast("IO[str]", child.stdout)
    lines: list[str] = []
    reader = threading.Thread(target=lambda: lines.append(pipe.readline()), daemon=True)
    reader.start()
    reader.join(STARTING_S)
    return lines[0].strip() if lines else ""
