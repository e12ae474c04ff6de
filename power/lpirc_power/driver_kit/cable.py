"""The cable between driver and meter, which the kit can pull: a relay of its own, commands of the author, or none."""

from __future__ import annotations

import contextlib
import re
import shlex
import socket
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

COMMAND_S: Final = 60.0
"""Longest time that a command of the author may take."""
CONNECTING_S: Final = 3.0
LARGEST: Final = 65536
RUBBISH: Final = b'\xff\x00{"rubbish": ]]\r\n\r\n'
PLACE: Final = re.compile(
    r"(?<![\w.])(?P<host>[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*|\[[0-9A-Fa-f:]+\])(?P<mark>[:,])(?P<port>[0-9]{1,5})(?![0-9.])"
)
"""HOST:PORT of an address, or HOST,PORT of a VISA resource."""


class Cable(Protocol):
    """A cable; `why_not` says why it cannot be pulled, "" if it can.

    `is_spoiled` is True until the rubbish of `spoil` was passed on.
    """

    why_not: str
    can_hang: bool
    can_spoil: bool

    @property
    def is_spoiled(self) -> bool:
        """Return True while rubbish is still to be passed on."""
        ...

    def pull(self) -> None:
        """Cut every connection, and let no new one through."""

    def hang(self) -> None:
        """Keep the connections, and pass nothing on."""

    def spoil(self) -> None:
        """Pass rubbish on in place of the next bytes from the meter."""

    def plug(self) -> None:
        """Mend it."""

    def close(self) -> None:
        """Release it; a second call does nothing."""


class Unspoilt:
    """What a cable is whose bytes the kit cannot change."""

    can_spoil = False
    is_spoiled = False

    def spoil(self) -> None:
        """Do nothing."""


class NoCable(Unspoilt):
    """Stands for a cable that the kit cannot pull."""

    can_hang = False

    def __init__(self, why_not: str) -> None:
        self.why_not = why_not

    def pull(self) -> None:
        """Do nothing."""

    hang = plug = close = pull


class CommandCable(Unspoilt):
    """A cable that commands of the author pull and plug in."""

    why_not = ""
    can_hang = False

    def __init__(self, pull: str, plug: str) -> None:
        self._pull = pull
        self._plug = plug

    def pull(self) -> None:
        """Run the command that pulls it."""
        run(self._pull)

    hang = pull

    def plug(self) -> None:
        """Run the command that plugs it in."""
        run(self._plug)

    def close(self) -> None:
        """Do nothing."""


class AskedCable(Unspoilt):
    """A cable that a person pulls and plugs in when asked."""

    why_not = ""
    can_hang = False

    def __init__(self, ask: Callable[[str], object]) -> None:
        self._ask = ask
        self._is_pulled = False

    def pull(self) -> None:
        """Ask for the device to be disconnected."""
        self._ask(
            "Disconnect the device from this computer, its load left on, and press Enter."
        )
        self._is_pulled = True

    hang = pull

    def plug(self) -> None:
        """Ask for it to be connected again, if it is not."""
        if self._is_pulled:
            self._ask(
                "Connect the device again, wait until it is ready, and press Enter."
            )
        self._is_pulled = False

    def close(self) -> None:
        """Do nothing."""


def run(command: str) -> None:
    """Run a command of the author, without a shell; CalledProcessError if it fails."""
    subprocess.run(shlex.split(command), check=True, timeout=COMMAND_S)  # noqa: S603  the author's own


@dataclass(frozen=True)
class Place:
    """Where an address leads, and the address around it."""

    host: str
    port: int
    mark: str
    before: str
    after: str

    def through(self, port: int) -> str:
        """Return the address with a port of this machine in place of the meter's."""
        return f"{self.before}127.0.0.1{self.mark}{port}{self.after}"


def place_of(rest: str) -> Place | None:
    """Return the host and port in an address; None if there is none."""
    found = PLACE.search(rest)
    if found is None or not 0 < int(found["port"]) < 65536:
        return None
    host = found["host"].strip("[]")
    before = rest[: found.start()]
    return Place(host, int(found["port"]), found["mark"], before, rest[found.end() :])


def answers(place: Place) -> bool:
    """Return True if something listens at a place."""
    try:
        socket.create_connection((place.host, place.port), CONNECTING_S).close()
    except OSError:
        return False
    return True


class RelayCable:
    """Passes bytes on to a meter on the network. Owns its sockets and threads until `close`."""

    why_not = ""
    can_hang = True
    can_spoil = True

    def __init__(self, host: str, port: int) -> None:
        self._spoiling = threading.Event()
        self._target = (host, port)
        self._pairs: list[socket.socket] = []
        self._guard = threading.Lock()
        self._passing = threading.Event()
        self._passing.set()
        self._listener: socket.socket | None = None
        self.port = 0
        self.plug()

    def plug(self) -> None:
        """Listen, at the same port as before, and pass on what comes."""
        self._spoiling.clear()
        self._passing.set()
        with self._guard:
            if self._listener is None:
                self._listener = socket.create_server(("127.0.0.1", self.port))
                self.port = self._listener.getsockname()[1]
                self._spawn(self._accept, self._listener)

    def pull(self) -> None:
        """Cut every connection and refuse new ones."""
        self._passing.set()
        with self._guard:
            if self._listener is not None:
                _ended(self._listener)
            self._listener = None
            for one in self._pairs:
                _ended(one)
            self._pairs.clear()

    def hang(self) -> None:
        """Accept connections and bytes, and pass nothing on."""
        self._passing.clear()

    @property
    def is_spoiled(self) -> bool:
        """Return True while rubbish is still to be passed on."""
        return self._spoiling.is_set()

    def spoil(self) -> None:
        """Pass rubbish on in place of the next bytes from the meter."""
        self._spoiling.set()

    def close(self) -> None:
        """Cut everything for good."""
        self.pull()

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                self._spawn(self._joined, near)

    def _joined(self, near: socket.socket) -> None:
        try:
            far = socket.create_connection(self._target, COMMAND_S)
        except OSError:
            _ended(near)
            return
        far.settimeout(None)
        with self._guard:
            self._pairs += (near, far)
        self._spawn(self._pass_on, near, far)
        self._pass_on(far, near, is_answer=True)

    def _pass_on(
        self, source: socket.socket, sink: socket.socket, *, is_answer: bool = False
    ) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(LARGEST):
                self._passing.wait()
                is_spoiled = is_answer and self.is_spoiled
                sink.sendall(RUBBISH if is_spoiled else data)
                if is_spoiled:
                    self._spoiling.clear()
        _ended(source)
        _ended(sink)

    @staticmethod
    def _spawn(act: object, *given: socket.socket) -> None:
        threading.Thread(target=act, args=given, daemon=True).start()  # type: ignore[arg-type]


def _ended(one: socket.socket) -> None:
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()
