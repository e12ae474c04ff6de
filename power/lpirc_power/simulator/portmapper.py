"""Portmapper (RFC 1833, version 2) for one VXI-11 server, so that its address needs no port."""

from __future__ import annotations

import contextlib
import socket
import socketserver
import threading
from collections.abc import Mapping
from typing import Any, Final, cast

from lpirc_power.errors import MeterError
from lpirc_power.simulator.doors import Door
from lpirc_power.simulator.xdr import MalformedError, Reader, Records, reply, uint

PORT: Final = 111
PROGRAM: Final = 100000
VERSION: Final = 2
TCP: Final = 6
_GET_PORT: Final = 3
_DUMP: Final = 4


class Portmapper:
    """Server, on TCP and UDP, that says on which TCP port a program listens; listens once built.

    `ports` maps program numbers to ports; every program has version 1. Port 0 means any free one. Raises MeterError
    `simulator-port` if the port is not available.
    """

    def __init__(self, ports: Mapping[int, int], host: str, port: int = PORT) -> None:
        self._ports = dict(ports)
        try:
            with contextlib.ExitStack() as opened:
                self._door = Door(host, port, self._serve, "portmapper")
                opened.callback(self._door.close)
                self.port = self._door.port
                self._datagrams = socketserver.UDPServer(
                    (host, self.port), cast("Any", self._answer)
                )
                opened.pop_all()
        except OSError as error:
            raise _unavailable(host, port, error) from error
        threading.Thread(target=self._datagrams.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Stop answering."""
        self._door.close()
        self._datagrams.shutdown()
        self._datagrams.server_close()

    def _serve(self, connection: socket.socket) -> None:
        records = Records(connection)
        with contextlib.suppress(OSError, MalformedError):
            while (record := records.receive()) is not None:
                records.send(self._reply(record))

    def _answer(self, request: Any, sender: Any, _server: object) -> None:
        record, datagrams = request
        # Ignore messages that are not calls, and senders that cannot be answered.
        with contextlib.suppress(MalformedError, OSError):
            datagrams.sendto(self._reply(record), sender)

    def _reply(self, record: bytes) -> bytes:
        return reply(
            record, PROGRAM, VERSION, {_GET_PORT: self._port_of, _DUMP: self._all}
        )

    def _port_of(self, reader: Reader) -> bytes:
        program, _version, protocol, _port = (reader.uint() for _ in range(4))
        return uint(self._ports.get(program, 0) if protocol == TCP else 0)

    def _all(self, _reader: Reader) -> bytes:
        return b"".join(
            uint(1, program, 1, TCP, port) for program, port in self._ports.items()
        ) + uint(0)


def _unavailable(host: str, port: int, error: OSError) -> MeterError:
    return MeterError(
        "simulator-port",
        f"The portmapper cannot listen on {host} port {port}: {error.strerror}; port {PORT} is for root, and may be "
        "taken by the portmapper of this machine (rpcbind). Or leave --portmapper out and use the address with its "
        "port, TCPIP::HOST,PORT::INSTR.",
    )
