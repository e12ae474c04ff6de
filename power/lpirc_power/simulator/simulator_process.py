"""Simulator process: serves until a signal, or until the parent process ends."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

from lpirc_power.endings import setting
from lpirc_power.errors import MeterError
from lpirc_power.meter import SIMULATED
from lpirc_power.operating_system import HAS_PTYS, mark_of_process, raw_pty
from lpirc_power.simulator.control import HOST, ControlServer
from lpirc_power.simulator.instrument import Instrument
from lpirc_power.simulator.instrument_state import DEFAULT_DIALECT
from lpirc_power.simulator.links import INPUT_BUFFER, Desk, Link
from lpirc_power.simulator.loads import parse_load
from lpirc_power.simulator.portmapper import Portmapper
from lpirc_power.simulator.vxi11 import ABORT_PROGRAM, CORE_PROGRAM, Vxi11Server

Server = TypeVar("Server")

PARENT_POLL_S: Final = 0.5
LONGEST_NAP_S: Final = 0.5


@dataclass(frozen=True)
class Plan:
    """The meter to simulate and its ports; port 0 means any free one.

    Without a control port there is no control socket.
    """

    host: str
    port: int
    load: str
    serial: str
    model: str = "WT310"
    control_port: int | None = None
    portmapper: bool = False
    dialect: str = DEFAULT_DIALECT
    pty: bool = False
    without: tuple[str, ...] = ()


def serve(
    plan: Plan,
    *,
    parent: int | None,
    clock: Callable[[], float],
    announce: Callable[[str], None],
) -> None:
    """Serve a simulated meter until SIGTERM or SIGINT; call `announce` with its VISA address once it answers.

    `announce` is then called with `serial PATH` if there is a pty, and with `control HOST:PORT` if there is a control
    socket. With `parent`, the process also ends when that process does, even by SIGKILL. Raises MeterError for an
    unknown load or model, a port that is not available, or a pty on Windows.
    """
    if plan.pty and not HAS_PTYS:
        raise MeterError(
            "no-pty",
            "Windows has no ptys; leave --pty out, or simulate the meter in WSL 2.",
        )
    ending = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, setting(ending))
    # No simulated meter counts in a contest, whatever its serial number.
    serial = (
        plan.serial
        if plan.serial.startswith(SIMULATED)
        else f"{SIMULATED}-{plan.serial}"
    )
    load = parse_load(plan.load, clock)
    instrument = Instrument(load, clock, serial, plan.model, plan.dialect, plan.without)
    with contextlib.ExitStack() as stack:
        server = _listening(
            "meter",
            plan.host,
            plan.port,
            lambda: Vxi11Server(instrument, plan.host, plan.port),
        )
        stack.callback(server.close)
        lines = [server.address]
        if plan.portmapper:
            ports = {CORE_PROGRAM: server.port, ABORT_PROGRAM: server.abort_port}
            stack.callback(Portmapper(ports, plan.host).close)
        if plan.pty:
            serial_line = SerialLine(server.desk)
            stack.callback(serial_line.close)
            lines.append(f"serial {serial_line.path}")
        if (port := plan.control_port) is not None:
            control = _listening(
                "meter's control socket",
                HOST,
                port,
                lambda: ControlServer(server, port),
            )
            stack.callback(control.close)
            lines.append(f"control {control.address}")
        ticker = threading.Thread(
            target=_tick, args=(instrument, ending), name="ticker", daemon=True
        )
        ticker.start()
        stack.callback(ticker.join)
        stack.callback(ending.set)
        for line in lines:
            announce(line)
        _wait(ending, parent)


class SerialLine:
    """Instrument on a pty, serving once built, for programs that use a serial port instead of a network.

    Programs open `path` as their serial port.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        # Kept open here; otherwise the line would close permanently when its last client leaves.
        self._ours, self._theirs, self.path = raw_pty()
        threading.Thread(target=self._serve, name="serial", daemon=True).start()

    def close(self) -> None:
        """Close the pty."""
        os.close(self._theirs)

    def _serve(self) -> None:
        link = Link(0, self._desk)
        with (
            contextlib.suppress(OSError),
            os.fdopen(self._ours, "r+b", buffering=0) as line,
        ):
            while message := line.readline(INPUT_BUFFER):
                link.write(message, end=False)
                self._desk.work(waiting=True)
                while link.waiting():
                    line.write(link.read(INPUT_BUFFER, 0.0, None)[2])


def _listening(what: str, host: str, port: int, make: Callable[[], Server]) -> Server:
    try:
        return make()
    except OSError as error:
        raise MeterError(
            "simulator-port",
            f"The simulated {what} cannot listen on {host} port {port}: {error.strerror}. "
            "Choose another, or 0 for any.",
        ) from error


def _tick(instrument: Instrument, ending: threading.Event) -> None:
    # The load is looked at on every update even without queries: CPU time can only be measured as it passes.
    nap_s = 0.0
    while not ending.wait(nap_s):
        nap_s = min(max(instrument.tick(), 0.001), LONGEST_NAP_S)


def _wait(ending: threading.Event, parent: int | None) -> None:
    first = mark_of_process(parent) if parent else None
    while not ending.wait(PARENT_POLL_S):
        if parent and (first is None or mark_of_process(parent) != first):
            return
