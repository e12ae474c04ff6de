"""XDR data, RPC calls and record marking (RFC 4506, RFC 5531), as far as VXI-11 needs them."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Mapping
from typing import Final

LONGEST_RECORD: Final = 1 << 20
LAST_FRAGMENT: Final = 0x80000000
RECEIVE_SIZE: Final = 1 << 16
NO_PROGRAM: Final = 1
NO_VERSION: Final = 2
NO_PROCEDURE: Final = 3
GARBAGE: Final = 4
"""Status of an accepted call whose arguments cannot be decoded; 0 is success."""
_CALL: Final = struct.Struct(">6I")


class MalformedError(Exception):
    """Bytes that are not XDR, are not an RPC call, or are an endless record."""


class Reader:
    """Reads XDR values from the front of a record."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def uint(self) -> int:
        """Return an unsigned 32-bit number."""
        return int.from_bytes(self._take(4), "big")

    def sint(self) -> int:
        """Return a signed 32-bit number."""
        return int.from_bytes(self._take(4), "big", signed=True)

    def numbers(self, layout: struct.Struct) -> tuple[int, ...]:
        """Return the numbers described by `layout`: `struct.Struct(">iI")` is a signed and an unsigned one."""
        return layout.unpack(self._take(layout.size))

    def opaque(self) -> bytes:
        """Return bytes of variable length: padded to a multiple of four, which their length field does not include."""
        length = self.uint()
        value = self._take(length)
        self._take(-length % 4)
        return value

    def _take(self, length: int) -> bytes:
        if self._at + length > len(self._data):
            raise MalformedError(
                f"{length} bytes wanted, {len(self._data) - self._at} left"
            )
        self._at += length
        return self._data[self._at - length : self._at]


Procedure = Callable[[Reader], bytes]
"""Procedure: reads its arguments from a record and returns its encoded results."""


def uint(*values: int) -> bytes:
    """Encode unsigned (or small signed) numbers in 32 bits each."""
    return struct.pack(f">{len(values)}I", *[value & 0xFFFFFFFF for value in values])


def opaque(data: bytes) -> bytes:
    """Encode bytes with their length and padding."""
    return uint(len(data)) + data + bytes(-len(data) % 4)


def reply(
    record: bytes, program: int, version: int, procedures: Mapping[int, Procedure]
) -> bytes:
    """Return the reply to a call of one of a program's procedures, or of procedure 0, which every program has.

    Raises MalformedError if the record is not a call.
    """
    reader = Reader(record)
    transaction, kind, rpc_version, called, called_version, procedure = reader.numbers(
        _CALL
    )
    if kind != 0:
        raise MalformedError(f"message type {kind} is not a call")
    for _ in ("credentials", "verifier"):
        reader.uint()  # the flavour
        reader.opaque()
    if rpc_version != 2:
        return uint(transaction, 1, 1, 0, 2, 2)
    accepted = uint(transaction, 1, 0, 0, 0)
    if called != program:
        return accepted + uint(NO_PROGRAM)
    if called_version != version:
        return accepted + uint(NO_VERSION, version, version)
    if procedure not in procedures:
        return accepted + uint(NO_PROCEDURE if procedure else 0)
    try:
        return accepted + uint(0) + procedures[procedure](reader)
    except MalformedError:
        return accepted + uint(GARBAGE)


class Records:
    """The records of one connection."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._unread = bytearray()

    def send(self, record: bytes) -> None:
        """Send a record as one fragment.

        Header and body go in one send, else Nagle's algorithm delays each query by 88 ms.
        """
        self._connection.sendall(uint(len(record) | LAST_FRAGMENT) + record)

    def receive(self) -> bytes | None:
        """Return the next record with its fragments joined; None if the peer has closed the connection."""
        record = bytearray()
        while True:
            header = self._take(4)
            if header is None:
                return None
            mark = int.from_bytes(header, "big")
            length = mark & ~LAST_FRAGMENT
            if len(record) + length > LONGEST_RECORD:
                raise MalformedError(f"a record of more than {LONGEST_RECORD} bytes")
            fragment = self._take(length)
            if fragment is None:
                return None
            record += fragment
            if mark & LAST_FRAGMENT:
                return bytes(record)

    def _take(self, length: int) -> bytes | None:
        # Read all available bytes at once, not header and body separately: each socket call takes time.
        unread = self._unread
        while len(unread) < length:
            part = self._connection.recv(RECEIVE_SIZE)
            if not part:
                return None
            unread += part
        taken = bytes(unread[:length])
        del unread[:length]
        return taken
