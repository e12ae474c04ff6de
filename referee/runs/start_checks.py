"""The full checks of a server once it has started: no window opens, and no run is armed, before that is sound.

The look itself is made elsewhere, by a process beside the one that serves; here is what it has found so far.
"""

from __future__ import annotations

import ctypes
import threading
from enum import IntEnum
from multiprocessing.sharedctypes import RawValue

from referee.clock import Clock
from referee.errors import RefereeError

LOOK_S = 0.05
LONGEST_WAIT_S = 20.0
"""A log-in that arms waits for so long; who is told to come again loses nothing, since no window is open."""
RETRY_AFTER_S = 5


class Found(IntEnum):
    """The result of the start checks."""

    NOT_YET = 0
    SOUND = 1
    FAULTS = 2


class StartChecks:
    """Shared between the process that looks, the one that serves, and those that replace it."""

    def __init__(self, found: Found = Found.NOT_YET) -> None:
        self._found = RawValue(ctypes.c_int, found)

    def note(self, found: Found) -> None:
        """Say how the look has ended."""
        self._found.value = found

    def require_sound(self, clock: Clock) -> None:
        """Wait until everything was looked at. Raises RefereeError `not-ready` for a fault, or if it takes long."""
        until_s = clock.monotonic_s() + LONGEST_WAIT_S
        never = threading.Event()
        while self._found.value == Found.NOT_YET:
            if clock.monotonic_s() >= until_s:
                sentence = "The referee is still looking at its images and its database after its start; try again."
                raise RefereeError("not-ready", sentence, retry_after_s=RETRY_AFTER_S)
            clock.wait(never, clock.monotonic_s() + LOOK_S)
        if self._found.value == Found.FAULTS:
            sentence = (
                "The referee found a fault in its images, its key or its database, so no window opens; "
                "its log says which."
            )
            raise RefereeError("not-ready", sentence)
