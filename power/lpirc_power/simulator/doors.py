"""TCP port that can be closed and reopened, as when a cable is pulled and plugged in again."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from typing import Final

from lpirc_power.operating_system import FREES_PORTS_LATE, KEEPS_PORTS

MOST_CONNECTIONS: Final = 64
"""Largest number of connections at a time; further ones are closed at once. A real instrument accepts fewer."""
PAUSE_S: Final = 0.1


class Door:
    """A TCP port, listening once built, that serves each connection in a thread of its own.

    Raises OSError if the port is not available; port 0 means any free one. `serve` receives a connection; when it
    returns, the connection is closed.
    """

    def __init__(
        self, host: str, port: int, serve: Callable[[socket.socket], None], name: str
    ) -> None:
        self._serve = serve
        self._name = name
        self._guard = threading.Lock()
        self._resting = threading.Event()
        self._connections: set[socket.socket] = set()
        self._listener: socket.socket | None = None
        self.host = host
        self.port = port
        with contextlib.ExitStack() as kept:
            if KEEPS_PORTS:
                # Bound but never listening: while closed, the port refuses connections and stays reserved.
                keeper = kept.enter_context(_bound(host, port))
                self.host, self.port = keeper.getsockname()[:2]
            self.open()
            self._kept = kept.pop_all()

    def open(self) -> None:
        """Listen again; does nothing if the port is open."""
        with self._guard:
            if self._listener is not None:
                return
            listener = _bound(self.host, self.port)
            try:
                listener.listen()
            except OSError:
                listener.close()
                raise
            self.host, self.port = listener.getsockname()[:2]
            self._listener = listener
        threading.Thread(
            target=self._accept,
            args=(listener,),
            name=f"{self._name}-accept",
            daemon=True,
        ).start()

    def shut(self) -> None:
        """Close every connection and refuse new ones."""
        with self._guard:
            listener = self._listener
            self._listener = None
            connections = list(self._connections)
        if listener is not None:
            # accept() in another thread is not woken by close() alone
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the port permanently."""
        self.shut()
        self._kept.close()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                if self._listener is not listener:
                    return  # shut
                # The connection broke, or no file descriptor is left: wait for the next connection.
                self._resting.wait(PAUSE_S)
                continue
            threading.Thread(
                target=self._receive,
                args=(connection, listener),
                name=self._name,
                daemon=True,
            ).start()

    def _receive(self, connection: socket.socket, listener: socket.socket) -> None:
        with connection:
            with self._guard:
                if (
                    self._listener is not listener
                    or len(self._connections) >= MOST_CONNECTIONS
                ):
                    return  # shut meanwhile, or too many
                self._connections.add(connection)
            try:
                self._serve(connection)
            finally:
                with self._guard:
                    self._connections.discard(connection)


def _bound(host: str, port: int) -> socket.socket:
    bound = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if (
            FREES_PORTS_LATE
        ):  # a simulator that was killed must find its port again at once
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except OSError:
        bound.close()
        raise
    return bound
