"""A portmapper (RFC 1833, version 2) that knows one VXI-11 server, for addresses without a port."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Mapping
from typing import Final

from power.errors import MeterError
from power.simulator.doors import Door
from power.simulator.xdr import MalformedError, Reader, Records, reply, uint

PORT: Final = 111
PROGRAM: Final = 100000
VERSION: Final = 2
TCP: Final = 6
_GET_PORT: Final = 3
_DUMP: Final = 4
_LONGEST_DATAGRAM: Final = 9000


class Portmapper:
    """Answers on TCP and UDP which TCP port a program has, from the moment it is built.

    `ports` are the ports by program number; every program has version 1. A port of 0 means any free one. Raises
    MeterError `simulator-port` if the port cannot be had.
    """

    def __init__(self, ports: Mapping[int, int], host: str, port: int = PORT) -> None:
        self._ports = dict(ports)
        self._closing = threading.Event()
        try:
            self._door = Door(host, port, self._serve, "portmapper")
            self.port = self._door.port
            self._datagrams = _datagram_socket(host, self.port, self._door)
        except OSError as error:
            raise _unavailable(host, port, error) from error
        self._thread = threading.Thread(target=self._serve_datagrams, name="portmapper-udp", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop answering."""
        self._closing.set()
        self._door.close()
        # recvfrom() in another thread is not woken by close() alone
        with contextlib.suppress(OSError):
            self._datagrams.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._datagrams.close()

    def _serve(self, connection: socket.socket) -> None:
        records = Records(connection)
        with contextlib.suppress(OSError, MalformedError):
            while (record := records.receive()) is not None:
                records.send(self._reply(record))

    def _serve_datagrams(self) -> None:
        while not self._closing.is_set():
            # Ignore what is not a call, and senders that cannot be answered.
            with contextlib.suppress(MalformedError, OSError):
                record, sender = self._datagrams.recvfrom(_LONGEST_DATAGRAM)
                self._datagrams.sendto(self._reply(record), sender)

    def _reply(self, record: bytes) -> bytes:
        return reply(record, PROGRAM, VERSION, {_GET_PORT: self._port_of, _DUMP: self._all})

    def _port_of(self, reader: Reader) -> bytes:
        program, _version, protocol, _port = (reader.uint() for _ in range(4))
        return uint(self._ports.get(program, 0) if protocol == TCP else 0)

    def _all(self, _reader: Reader) -> bytes:
        return b"".join(uint(1, program, 1, TCP, port) for program, port in self._ports.items()) + uint(0)


def _datagram_socket(host: str, port: int, door: Door) -> socket.socket:
    datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        datagrams.bind((host, port))
    except OSError:
        datagrams.close()
        door.close()
        raise
    return datagrams


def _unavailable(host: str, port: int, error: OSError) -> MeterError:
    return MeterError(
        "simulator-port",
        f"The portmapper cannot listen on {host} port {port}: {error.strerror}; port {PORT} is for root, and may be "
        "taken by the portmapper of this machine (rpcbind). Or leave --portmapper out and use the address with its "
        "port, TCPIP::HOST,PORT::INSTR.",
    )
