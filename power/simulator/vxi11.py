"""A VXI-11 server on a port of its own: addressed as TCPIP::HOST,PORT::INSTR, so without a portmapper."""

from __future__ import annotations

import functools
import socket
import threading
from collections.abc import Callable
from typing import Final, Protocol

from power.simulator.core import ABORT_PROGRAM, CORE_PROGRAM, AbortChannel, CoreChannel, Device
from power.simulator.doors import Door
from power.simulator.instrument import Instrument
from power.simulator.links import Desk
from power.simulator.xdr import MalformedError, Reader, Records, accepted, read_call, rpc_mismatch

PROGRAM_VERSION: Final = 1
MAX_RECEIVE: Final = 8192


class Channel(Protocol):
    """The procedures that one connection can call."""

    procedures: dict[int, Callable[[Reader], bytes]]

    def close(self) -> None:
        """Free what the connection held."""
        ...


class Vxi11Server:
    """Serves one instrument; listening from the moment it is built.

    Raises OSError if the port cannot be had. A port of 0 means any free one.
    """

    def __init__(self, instrument: Instrument, host: str, port: int, max_receive: int = MAX_RECEIVE) -> None:
        self._desk = Desk(instrument)
        self._device = Device(self._desk, max_receive)
        self._doors: list[Door] = []
        self._mending: threading.Timer | None = None
        core = functools.partial(self._serve, CORE_PROGRAM, lambda: CoreChannel(self._device))
        abort = functools.partial(self._serve, ABORT_PROGRAM, lambda: AbortChannel(self._device))
        try:
            for serve, wanted in ((core, port), (abort, 0)):
                self._doors.append(Door(host, wanted, serve, "vxi11"))
        except OSError:
            self.close()
            raise
        self.port, self.abort_port = (door.port for door in self._doors)
        self._device.abort_port = self.abort_port
        self.address = f"TCPIP::{host},{self.port}::INSTR"

    def cut(self, seconds: float = 0.0) -> None:
        """Cut every connection, and refuse new ones for so long."""
        self._forget_mending()
        for door in self._doors:
            door.shut()
        if seconds <= 0:
            self.mend()
            return
        self._mending = threading.Timer(seconds, self.mend)
        self._mending.daemon = True
        self._mending.start()

    def mend(self) -> None:
        """Take connections again."""
        self._forget_mending()
        for door in self._doors:
            door.open()

    def close(self) -> None:
        """Stop listening, drop every connection, end the instrument's thread."""
        self._forget_mending()
        self._desk.instrument.close()
        for door in self._doors:
            door.close()
        for number in list(self._device.links):
            self._device.free(number)
        self._desk.close()

    def _forget_mending(self) -> None:
        mending, self._mending = self._mending, None
        if mending is not None:
            mending.cancel()

    def _serve(self, program: int, make: Callable[[], Channel], connection: socket.socket) -> None:
        channel = make()
        faults = self._desk.instrument.faults
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            records = Records(connection)
            while (record := records.receive()) is not None:
                faults.wait_while_hung()
                records.send(_reply(record, program, channel))
                self._desk.work()
        except (OSError, MalformedError):
            pass  # the peer broke off, or talks something else: the link ends
        finally:
            self._desk.work()  # what came last and could not be acknowledged
            channel.close()


def _reply(record: bytes, program: int, channel: Channel) -> bytes:
    reader = Reader(record)
    call = read_call(reader)
    if call.rpc_version != 2:
        return rpc_mismatch(call)
    if call.program != program:
        return accepted(call, 1)
    if call.version != PROGRAM_VERSION:
        low_high = PROGRAM_VERSION.to_bytes(4, "big") * 2
        return accepted(call, 2, low_high)
    if call.procedure == 0:
        return accepted(call, 0)
    procedure = channel.procedures.get(call.procedure)
    if procedure is None:
        return accepted(call, 3)
    try:
        return accepted(call, 0, procedure(reader))
    except MalformedError:
        return accepted(call, 4)
