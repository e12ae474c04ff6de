"""A stretch of cable: passes bytes to a port of this host, and can be cut, slow, silent, or end one side only."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import suppress

HOST = "127.0.0.1"
NOWHERE = 1
LOOK_S = 0.02


class Relay:
    """Listens on `port` from the moment it is built; whoever comes while the far end is away is cut off."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._pairs = dict[socket.socket, socket.socket]()
        self.mend()
        listener = socket.create_server((HOST, 0))
        self.port: int = listener.getsockname()[1]
        threading.Thread(
            target=self._accept,
            args=(listener,),
            daemon=True,
        ).start()

    def mend(self) -> None:
        """Be a good cable again."""
        self.whole = True
        self.silent = False
        self.delay_s = 0.0

    def lead_to(self, target: int) -> None:
        """Lead new connections to another port; the old ones break."""
        self._target = target
        self.cut()
        self.mend()

    def cut(self) -> None:
        """Break every connection, and new ones at once."""
        self.whole = False
        for end in [end for pair in [*self._pairs.items()] for end in pair]:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def end_near_side(self) -> None:
        """End the near side's sending: the far side believes that the near one has gone."""
        for far in [*self._pairs.values()]:
            with suppress(OSError):
                far.shutdown(socket.SHUT_WR)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            threading.Thread(
                target=self._join,
                args=(listener.accept()[0],),
                daemon=True,
            ).start()

    def _join(self, near: socket.socket) -> None:
        target = self._target if self.whole else NOWHERE
        with near, suppress(OSError), socket.create_connection((HOST, target)) as far:
            self._pairs[near] = far
            back = threading.Thread(
                target=self._pass,
                args=(far, near),
                daemon=True,
            )
            back.start()
            self._pass(near, far)
            back.join()
        self._pairs.pop(near, None)

    def _pass(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                time.sleep(self.delay_s)
                while self.silent:
                    time.sleep(LOOK_S)
                sink.sendall(data)
        with suppress(OSError):
            sink.shutdown(socket.SHUT_WR)
