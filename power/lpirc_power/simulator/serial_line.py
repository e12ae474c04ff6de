"""The simulated meter behind a serial line: a pty, for programs that know no network."""

from __future__ import annotations

import contextlib
import os
import threading
import tty

from lpirc_power.simulator.links import INPUT_BUFFER, Desk, Link


class SerialLine:
    """Serves an instrument on a pty from the moment it is built; a program opens `path` as its serial port."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        # The clients' end stays open here: a line whose last client left would be hung up for good.
        self._ours, self._theirs = os.openpty()
        tty.setraw(self._theirs)
        self.path = os.ttyname(self._theirs)
        threading.Thread(target=self._serve, name="serial", daemon=True).start()

    def close(self) -> None:
        """Hang up."""
        os.close(self._theirs)

    def _serve(self) -> None:
        link = Link(0, self._desk)
        with contextlib.suppress(OSError), os.fdopen(self._ours, "r+b", buffering=0) as line:
            while message := line.readline(INPUT_BUFFER):
                link.write(message, end=False)
                self._desk.work(waiting=True)
                while link.waiting():
                    line.write(link.read(INPUT_BUFFER, 0.0, None)[2])
