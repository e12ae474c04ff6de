"""VXI-11 server on a port of its own: its address TCPIP::HOST,PORT::INSTR needs no portmapper."""

from __future__ import annotations

import itertools
import socket
import struct
import threading
from typing import Final

from lpirc_power.simulator.doors import Door
from lpirc_power.simulator.instrument import Instrument
from lpirc_power.simulator.links import OUT_OF_RESOURCES, Desk, DeviceLock, Link
from lpirc_power.simulator.xdr import (
    MalformedError,
    Procedure,
    Reader,
    Records,
    opaque,
    reply,
    uint,
)

CORE_PROGRAM: Final = 0x0607AF
ABORT_PROGRAM: Final = 0x0607B0
INVALID_LINK: Final = 4
NOT_SUPPORTED: Final = 8
WAIT_FOR_LOCK: Final = 1
END_FLAG: Final = 8
TERMINATOR_FLAG: Final = 128
MOST_LINKS: Final = 32
LONGEST_WAIT_S: Final = 60.0
_WRITE: Final = struct.Struct(">iIIi")
_READ: Final = struct.Struct(">iIIIiI")
_GENERIC: Final = struct.Struct(">iiII")
PROGRAM_VERSION: Final = 1
MAX_RECEIVE: Final = 8192


class CoreChannel:
    """Connection to the core channel; owns the links made through it."""

    def __init__(self, server: Vxi11Server) -> None:
        self._server = server
        self._mine: set[int] = set()
        self.procedures: dict[int, Procedure] = {
            10: self._create_link,
            11: self._write,
            12: self._read,
            13: self._read_status_byte,
            14: self._nothing,
            15: self._clear,
            16: self._nothing,
            17: self._nothing,
            18: self._lock,
            19: self._unlock,
            20: lambda _reader: uint(NOT_SUPPORTED),
            22: lambda _reader: uint(NOT_SUPPORTED) + opaque(b""),
            23: self._destroy_link,
            25: lambda _reader: uint(NOT_SUPPORTED),
            26: lambda _reader: uint(NOT_SUPPORTED),
        }

    def close(self) -> None:
        """Free the connection's links; a client that vanished leaves no lock behind."""
        for number in sorted(self._mine):
            self._server.free(number)

    def _create_link(self, reader: Reader) -> bytes:
        reader.sint()
        wants_lock = reader.uint()
        lock_timeout_ms = reader.uint()
        reader.opaque()
        link = self._server.create_link()
        if link is None:
            return uint(OUT_OF_RESOURCES, 0, 0, 0)
        error = (
            self._server.lock.acquire(link.number, _seconds(lock_timeout_ms))
            if wants_lock
            else 0
        )
        if error:
            self._server.free(link.number)
            return uint(error, 0, 0, 0)
        self._mine.add(link.number)
        return uint(0, link.number, self._server.abort_port, self._server.max_receive)

    def _write(self, reader: Reader) -> bytes:
        number, _io_timeout_ms, lock_timeout_ms, flags = reader.numbers(_WRITE)
        data = reader.opaque()
        link, error = self._admitted(number, flags, lock_timeout_ms)
        if link is None:
            return uint(error, 0)
        error = link.write(data, bool(flags & END_FLAG))
        return uint(error, 0 if error else len(data))

    def _read(self, reader: Reader) -> bytes:
        number, size, io_timeout_ms, lock_timeout_ms, flags, terminator = (
            reader.numbers(_READ)
        )
        link, error = self._admitted(number, flags, lock_timeout_ms)
        if link is None:
            return uint(error, 0) + opaque(b"")
        stop = terminator & 0xFF if flags & TERMINATOR_FLAG else None
        error, reason, data = link.read(size, _seconds(io_timeout_ms), stop)
        return uint(error, reason) + opaque(data)

    def _read_status_byte(self, reader: Reader) -> bytes:
        link, error = self._generic(reader)
        if link is None:
            return uint(error, 0)
        return uint(0, self._server.instrument.status_byte(link.waiting()))

    def _clear(self, reader: Reader) -> bytes:
        link, error = self._generic(reader)
        if link:
            link.clear()
        return uint(error)

    def _nothing(self, reader: Reader) -> bytes:
        return uint(self._generic(reader)[1])

    def _lock(self, reader: Reader) -> bytes:
        number = reader.sint()
        flags = reader.sint()
        lock_timeout_ms = reader.uint()
        if self._server.find(number) is None:
            return uint(INVALID_LINK)
        wait_s = _seconds(lock_timeout_ms) if flags & WAIT_FOR_LOCK else 0.0
        return uint(self._server.lock.acquire(number, wait_s))

    def _unlock(self, reader: Reader) -> bytes:
        number = reader.sint()
        known = self._server.find(number) is not None
        return uint(self._server.lock.release(number) if known else INVALID_LINK)

    def _destroy_link(self, reader: Reader) -> bytes:
        number = reader.sint()
        if self._server.find(number) is None:
            return uint(INVALID_LINK)
        self._mine.discard(number)
        self._server.free(number)
        return uint(0)

    def _generic(self, reader: Reader) -> tuple[Link | None, int]:
        number, flags, lock_timeout_ms, _io_timeout_ms = reader.numbers(_GENERIC)
        return self._admitted(number, flags, lock_timeout_ms)

    def _admitted(
        self, number: int, flags: int, lock_timeout_ms: int
    ) -> tuple[Link | None, int]:
        link = self._server.find(number)
        if link is None:
            return None, INVALID_LINK
        wait_s = _seconds(lock_timeout_ms) if flags & WAIT_FOR_LOCK else 0.0
        error = self._server.lock.passes(number, wait_s)
        return (None if error else link), error


def _seconds(milliseconds: int) -> float:
    return min(milliseconds / 1000.0, LONGEST_WAIT_S)


class Vxi11Server:
    """Server of one instrument; listens once built.

    Raises OSError if the port is not available. Port 0 means any free one.
    """

    def __init__(
        self,
        instrument: Instrument,
        host: str,
        port: int,
        max_receive: int = MAX_RECEIVE,
    ) -> None:
        self.instrument = instrument
        self.desk = Desk(instrument)
        self.lock = DeviceLock()
        self.max_receive = max_receive
        self._links: dict[int, Link] = {}
        self._numbers = itertools.count(1)
        self._guard = threading.Lock()
        self.port = self.abort_port = 0
        self._doors: list[Door] = []
        self._mending = threading.Timer(
            0.0, self.mend
        )  # started when the doors are shut for a time
        try:
            for serve, wanted in ((self._serve_core, port), (self._serve_abort, 0)):
                self._doors.append(Door(host, wanted, serve, "vxi11"))
        except OSError:
            self.close()
            raise
        self.port, self.abort_port = (door.port for door in self._doors)
        self.address = f"TCPIP::{host},{self.port}::INSTR"

    def create_link(self) -> Link | None:
        """Return a new link, or None if there are too many."""
        with self._guard:
            if len(self._links) >= MOST_LINKS:
                return None
            link = Link(next(self._numbers), self.desk)
            self._links[link.number] = link
            return link

    def find(self, number: int) -> Link | None:
        """Return the link with this number, whichever connection it belongs to."""
        with self._guard:
            return self._links.get(number)

    def free(self, number: int) -> None:
        """Remove a link and its lock, and unblock its message if one waits for an event."""
        with self._guard:
            link = self._links.pop(number, None)
        if link:
            link.abort()
            link.clear()
            self.lock.release(number)

    def abort(self, reader: Reader) -> bytes:
        """Run the only procedure of the abort channel."""
        link = self.find(reader.sint())
        if link is None:
            return uint(INVALID_LINK)
        link.abort()
        return uint(0)

    def cut(self, seconds: float = 0.0) -> None:
        """Close every connection, and refuse new ones for the given number of seconds."""
        self._mending.cancel()
        for door in self._doors:
            door.shut()
        if seconds <= 0:
            self.mend()
            return
        self._mending = threading.Timer(seconds, self.mend)
        self._mending.daemon = True
        self._mending.start()

    def mend(self) -> None:
        """Accept connections again."""
        self._mending.cancel()
        for door in self._doors:
            door.open()

    def close(self) -> None:
        """Stop listening, close every connection, and end the instrument's thread."""
        self._mending.cancel()
        self.instrument.close()
        for door in self._doors:
            door.close()
        for number in list(self._links):
            self.free(number)
        self.desk.close()

    def _serve_core(self, connection: socket.socket) -> None:
        channel = CoreChannel(self)
        try:
            self._serve(CORE_PROGRAM, channel.procedures, connection)
        finally:
            channel.close()

    def _serve_abort(self, connection: socket.socket) -> None:
        self._serve(ABORT_PROGRAM, {1: self.abort}, connection)

    def _serve(
        self, program: int, procedures: dict[int, Procedure], connection: socket.socket
    ) -> None:
        faults = self.instrument.faults
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            records = Records(connection)
            while (record := records.receive()) is not None:
                faults.wait_while_hung()
                records.send(reply(record, program, PROGRAM_VERSION, procedures))
                self.desk.work()
        except (OSError, MalformedError):
            pass  # the peer broke off, or speaks something else: the link ends
        finally:
            self.desk.work()  # what came last and could not be acknowledged
