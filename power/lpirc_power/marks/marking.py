"""Marks of a workload: names of its phases, sent to the recording that measures it.

    from lpirc_power import mark

    with mark("inference"):
        ...

A mark takes some microseconds and never waits: what the recording does not take in time is dropped and counted. Where
no recording listens, one warning is logged, and marks do nothing. Uses the standard library alone.
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import json
import logging
import os
import platform
import socket
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_log: Final = logging.getLogger(__name__)

ENVIRONMENT: Final = "LPIRC_METER_MARKS"
"""Environment variable with the address of the recording: the path of a socket, or tcp:HOST:PORT:TOKEN."""
TCP: Final = "tcp:"
CONNECT_S: Final = 2.0
"""Longest wait for the recording's answer at the first mark."""
CONNECT_PAUSE_S: Final = 0.01
FLUSH_S: Final = 2.0
"""Longest wait, at the end of the program, for marks that are still on their way."""
NO_NAME: Final = "(no name)"
"""Name of a mark whose name has no character to read."""
MOST_WAITING: Final = 131_072
"""Bytes that wait here when the recording is slow; marks beyond are dropped."""


def machine() -> str:
    """Return what names this machine since its start: two programs that share a monotonic clock have it in common."""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {_time_namespace()}"
    return f"{platform.node()} {sys.platform}"


def _time_namespace() -> str:
    try:
        return str(Path("/proc/self/ns/time").readlink())
    except OSError:
        return ""


def connected(address: str, timeout_s: float = CONNECT_S) -> tuple[socket.socket, str]:
    """Return a connection to the recording at an address, and the token that it asks for. Raises OSError."""
    if address.startswith(TCP):
        host, port, token = _parts(address)
        return socket.create_connection((host, port), timeout_s), token
    if not hasattr(socket, "AF_UNIX"):
        raise OSError("this system has no sockets with a path")
    made = socket.socket(socket.AF_UNIX)
    try:
        made.settimeout(timeout_s)
        _connect(made, address, timeout_s)
    except BaseException:
        made.close()
        raise
    return made, ""


def _parts(address: str) -> tuple[str, int, str]:
    host, colon, token = address.removeprefix(TCP).rpartition(":")
    host, _, port = host.rpartition(":")
    if not (host and colon and port.isascii() and port.isdigit()):
        raise ValueError(f"{ENVIRONMENT} is not tcp:HOST:PORT:TOKEN")
    return host, int(port), token


def _connect(made: socket.socket, address: str, timeout_s: float) -> None:
    """Connect, also where so many programs do at once that the system puts some off."""
    until_s = time.monotonic() + timeout_s
    while True:
        try:
            made.connect(address)
        except BlockingIOError:
            if time.monotonic() > until_s:
                raise
            time.sleep(CONNECT_PAUSE_S)
        else:
            return


class Sender:
    """The way from this process to a recording; connects at the first mark. Marks may come from any thread."""

    def __init__(self, address: str | None) -> None:
        self._address = address
        self._guard = threading.RLock()
        self._is_busy = False
        self._socket: socket.socket | None = None
        self._waiting = bytearray()
        self._lost = 0
        self._is_off = False

    def send(self, *message: object) -> bool:
        """Send a message, or drop it; return False if no recording listens."""
        with self._guard:
            if self._is_busy:  # a signal handler marks while this thread sends
                self._lost += message[0] != "begin"
                return False
            self._is_busy = True
            try:
                return self._take(_line(*message), is_mark=message[0] != "begin")
            finally:
                self._is_busy = False

    def _take(self, line: bytes, *, is_mark: bool) -> bool:
        if self._is_off or (self._socket is None and not self._connect()):
            return False
        if len(self._waiting) > MOST_WAITING:
            self._lost += is_mark
        else:
            self._waiting += line
        self._pass_on()
        return not self._is_off

    def close(self) -> None:
        """Send what is still waiting, for at most two seconds, and end the connection."""
        with self._guard:
            if self._socket is not None and not self._is_off:
                self._socket.settimeout(FLUSH_S)
                if self._lost:
                    # Behind the line that may have been sent in part, and before all others.
                    begun = self._waiting.find(b"\n") + 1
                    self._waiting[begun:begun] = _line("lost", self._lost)
                with contextlib.suppress(OSError):
                    self._socket.sendall(self._waiting)
            self._end()

    def lead_to(self, address: str | None) -> None:
        """Send what is still waiting, and from now on to the recording at another address; None: to no recording."""
        self.close()
        with self._guard:
            self._address = address
            self._waiting.clear()
            self._lost = 0
            self._is_off = False

    def abandon(self) -> None:
        """Forget a connection that belongs to the parent process."""
        self._guard = threading.RLock()
        self._is_busy = False
        self._waiting.clear()
        self._end()
        self._is_off = False

    def _end(self) -> None:
        if self._socket is not None:
            self._socket.close()
        self._socket = None
        self._is_off = True

    def _connect(self) -> bool:
        if not self._address:
            self._turn_off(f"{ENVIRONMENT} is not set")
            return False
        try:
            self._socket, token = connected(self._address)
            is_heard = self._greet(self._socket, token)
        except (OSError, ValueError) as error:
            self._turn_off(getattr(error, "strerror", None) or str(error))
            return False
        if not is_heard:
            self._turn_off("it does not answer")
        return is_heard

    def _greet(self, to: socket.socket, token: str) -> bool:
        asked_s = time.monotonic()
        to.sendall(_line("hello", machine(), asked_s, token))
        try:
            answer = to.recv(64)
        except TimeoutError:
            # On a busy machine: what is sent waits in the socket, and costs the recording nothing but time.
            _log.warning(
                "The recording has not answered yet; marks are sent all the same."
            )
            to.setblocking(False)
            return True
        if answer.startswith(b"other"):
            self._waiting += _line("delay", time.monotonic() - asked_s)
        to.setblocking(False)
        return answer.startswith((b"same", b"other"))

    def _pass_on(self) -> None:
        if self._socket is None:
            return
        try:
            sent = self._socket.send(self._waiting)
            del self._waiting[:sent]
            if self._lost and not self._waiting:
                self._waiting += _line("lost", self._lost)
                self._lost = 0
        except BlockingIOError:
            pass
        except OSError as error:
            self._turn_off(error.strerror or str(error))

    def _turn_off(self, why: str) -> None:
        self._end()
        where = "" if not self._address else f" at {self._address}"
        _log.warning("No recording listens%s, so marks do nothing: %s.", where, why)


class mark:  # noqa: N801  read as a word: `with mark("inference"):`
    """A stretch of the workload, as a with statement.

    `name` is any text; what cannot be printed is replaced. Stretches may nest and overlap, also with the same name.
    """

    __slots__ = ("_name", "_open", "_sender")

    def __init__(self, name: str, sender: Sender | None = None) -> None:
        self._name = _named(name)
        self._open: list[tuple[int, float]] = []
        self._sender = sender or own_sender

    def __enter__(self) -> Self:
        number = next(_numbers)
        begin_s = time.monotonic()
        self._open.append((number, begin_s))
        self._sender.send("begin", number, begin_s, self._name)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        end_s = time.monotonic()
        if not self._open:
            _log.warning("The mark %r is ended but has not begun.", self._name)
            return
        number, begin_s = self._open.pop()
        self._sender.send("end", number, begin_s, end_s, self._name)


def _named(name: object) -> str:
    return str(name) if str(name).strip() else NO_NAME


def instant(name: str, sender: Sender | None = None) -> bool:
    """Mark this moment; return False if no recording listens."""
    return (sender or own_sender).send("at", time.monotonic(), _named(name))


def _line(*message: object) -> bytes:
    return json.dumps(message).encode() + b"\n"


_numbers: Final = itertools.count()
own_sender: Final = Sender(os.environ.get(ENVIRONMENT))
"""The way of this process."""
atexit.register(own_sender.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=own_sender.abandon)
