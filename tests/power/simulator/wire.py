"""VXI-11 and RPC by hand, for what no client library would send."""

from __future__ import annotations

import socket
import struct

from lpirc_power.simulator.xdr import Reader, opaque, uint
from tests.timeouts import TIMEOUT_S

CORE = 0x0607AF
CREATE = 10
WRITE = 11
READ = 12
STATUS_BYTE = 13
CLEAR = 15
LOCK = 18
UNLOCK = 19
DESTROY = 23
END = 8
TERMINATOR = 128
WAIT = 1


def call_record(
    transaction: int,
    procedure: int,
    body: bytes,
    program: int,
    version: int,
    rpc: int = 2,
) -> bytes:
    return uint(transaction, 0, rpc, program, version, procedure, 0, 0, 0, 0) + body


class Wire:
    """A connection on which calls are made by hand."""

    def __init__(
        self,
        port: int,
    ) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S)
        self.transaction = 0

    def send(
        self,
        procedure: int,
        body: bytes,
        program: int = CORE,
        version: int = 1,
        rpc: int = 2,
    ) -> None:
        self.transaction += 1
        record = call_record(self.transaction, procedure, body, program, version, rpc)
        self.socket.sendall(uint(len(record) | 0x80000000) + record)

    def receive(self) -> bytes:
        (mark,) = struct.unpack(">I", self._exactly(4))
        assert mark & 0x80000000
        return self._exactly(mark & 0x7FFFFFFF)

    def call(
        self,
        procedure: int,
        body: bytes = b"",
        **header: int,
    ) -> Reader:
        self.send(procedure, body, **header)
        reader = Reader(self.receive())
        assert [reader.uint() for _ in range(5)] == [self.transaction, 1, 0, 0, 0]
        assert reader.uint() == 0
        return reader

    def link(self) -> int:
        reader = self.call(CREATE, uint(1, 0, 0) + opaque(b"inst0"))
        assert reader.uint() == 0
        return reader.uint()

    def write(
        self,
        link: int,
        data: bytes,
        flags: int = END,
    ) -> int:
        return self.call(WRITE, uint(link, 1000, 1000, flags) + opaque(data)).uint()

    def read(
        self,
        link: int,
        size: int = 1000,
        flags: int = 0,
        timeout_ms: int = 10000,
    ) -> tuple[int, int, bytes]:
        reader = self.call(READ, uint(link, size, timeout_ms, 0, flags, ord("\n")))
        return reader.uint(), reader.uint(), reader.opaque()

    def _exactly(
        self,
        length: int,
    ) -> bytes:
        data = b""
        while len(data) < length:
            part = self.socket.recv(length - len(data))
            assert part, "the server closed the connection"
            data += part
        return data
