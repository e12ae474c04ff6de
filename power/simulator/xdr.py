"""XDR data, RPC calls and record marking (RFC 4506, RFC 5531), as far as VXI-11 needs them."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass
from typing import Final

LONGEST_RECORD: Final = 1 << 20


class MalformedError(Exception):
    """Bytes that are no XDR, no RPC call, or a record without end."""


class Reader:
    """Takes XDR values off the front of a record."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def uint(self) -> int:
        """Return an unsigned 32-bit number."""
        (value,) = struct.unpack(">I", self._take(4))
        return int(value)

    def sint(self) -> int:
        """Return a signed 32-bit number."""
        (value,) = struct.unpack(">i", self._take(4))
        return int(value)

    def opaque(self) -> bytes:
        """Return bytes of variable length: padded to a multiple of four, unlike their length field."""
        length = self.uint()
        value = self._take(length)
        self._take(-length % 4)
        return value

    def _take(self, length: int) -> bytes:
        if self._at + length > len(self._data):
            raise MalformedError(f"{length} bytes wanted, {len(self._data) - self._at} left")
        self._at += length
        return self._data[self._at - length : self._at]


def uint(*values: int) -> bytes:
    """Return unsigned (or small signed) 32-bit numbers."""
    return b"".join(struct.pack(">I", value & 0xFFFFFFFF) for value in values)


def opaque(data: bytes) -> bytes:
    """Return bytes with their length, padded."""
    return uint(len(data)) + data + bytes(-len(data) % 4)


@dataclass(frozen=True)
class Call:
    """The header of an RPC call."""

    transaction: int
    rpc_version: int
    program: int
    version: int
    procedure: int


def read_call(reader: Reader) -> Call:
    """Take a call's header off a record, credentials skipped; MalformedError if it is no call."""
    transaction, kind = reader.uint(), reader.uint()
    if kind != 0:
        raise MalformedError(f"message type {kind} is not a call")
    call = Call(transaction, reader.uint(), reader.uint(), reader.uint(), reader.uint())
    for _ in ("credentials", "verifier"):
        reader.uint()
        reader.opaque()
    return call


def accepted(call: Call, status: int, body: bytes = b"") -> bytes:
    """Return an accepted reply; 0 success, 1 no such program, 2 version, 3 procedure, 4 garbage arguments."""
    return uint(call.transaction, 1, 0, 0, 0, status) + body


def rpc_mismatch(call: Call) -> bytes:
    """Return the refusal of any RPC version but 2."""
    return uint(call.transaction, 1, 1, 0, 2, 2)


def send_record(connection: socket.socket, record: bytes) -> None:
    """Send a record as one fragment; header and body in one send, else Nagle's wait costs 88 ms a query."""
    connection.sendall(uint(len(record) | 0x80000000) + record)


def receive_record(connection: socket.socket) -> bytes | None:
    """Return the next record, its fragments joined; None when the peer has closed between records."""
    record = b""
    while True:
        header = _receive(connection, 4)
        if header is None:
            return None
        (mark,) = struct.unpack(">I", header)
        length = mark & 0x7FFFFFFF
        if len(record) + length > LONGEST_RECORD:
            raise MalformedError(f"a record of more than {LONGEST_RECORD} bytes")
        fragment = _receive(connection, length)
        if fragment is None:
            return None
        record += fragment
        if mark & 0x80000000:
            return record


def _receive(connection: socket.socket, length: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < length:
        part = connection.recv(length - len(parts))
        if not part:
            return None
        parts += part
    return bytes(parts)
