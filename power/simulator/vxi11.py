"""A VXI-11 server on a port of its own: addressed as TCPIP::HOST,PORT::INSTR, so without a portmapper."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Final, Protocol

from power.simulator.core import ABORT_PROGRAM, CORE_PROGRAM, AbortChannel, CoreChannel, Device
from power.simulator.instrument import Instrument
from power.simulator.links import Desk
from power.simulator.xdr import (
    Call,
    MalformedError,
    Reader,
    accepted,
    read_call,
    receive_record,
    rpc_mismatch,
    send_record,
)

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
        self._connections: set[socket.socket] = set()
        self._guard = threading.Lock()
        self._closed = False
        try:
            self._listeners = [_listener(host, port), _listener(host, 0)]
        except OSError:
            self._desk.close()
            raise
        self._device.abort_port = _port(self._listeners[1])
        self.address = f"TCPIP::{host},{_port(self._listeners[0])}::INSTR"
        self.port = _port(self._listeners[0])
        self._accept(self._listeners[0], CORE_PROGRAM, lambda: CoreChannel(self._device))
        self._accept(self._listeners[1], ABORT_PROGRAM, lambda: AbortChannel(self._device))

    def close(self) -> None:
        """Stop listening, drop every connection, end the instrument's thread."""
        with self._guard:
            self._closed = True
            connections = list(self._connections)
        for listener in self._listeners:
            # accept() in another thread is not woken by close() alone
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for number in list(self._device.links):
            self._device.free(number)
        self._desk.close()

    def _accept(self, listener: socket.socket, program: int, channel: Callable[[], Channel]) -> None:
        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return  # closed
                threading.Thread(
                    target=self._serve, args=(connection, program, channel()), name="vxi11", daemon=True
                ).start()

        threading.Thread(target=accept, name="vxi11-accept", daemon=True).start()

    def _serve(self, connection: socket.socket, program: int, channel: Channel) -> None:
        with connection:
            with self._guard:
                if self._closed:
                    return
                self._connections.add(connection)
            try:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while (record := receive_record(connection)) is not None:
                    send_record(connection, _reply(record, program, channel))
            except (OSError, MalformedError):
                pass  # the peer broke off, or talks something else: the link ends
            finally:
                channel.close()
                with self._guard:
                    self._connections.discard(connection)


def _reply(record: bytes, program: int, channel: Channel) -> bytes:
    reader = Reader(record)
    call: Call = read_call(reader)
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


def _listener(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        # A simulator that was killed must find its port again at once.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen()
    except OSError:
        listener.close()
        raise
    return listener


def _port(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])
