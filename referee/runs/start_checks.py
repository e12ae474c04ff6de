"""The result of the full checks made after a server's start: no run is armed or opened until they have passed.

A separate process makes the checks; this module holds the result so far.
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
"""Maximum seconds that arming or a log-in waits for the checks.

A later retry loses nothing, since no window is open.
"""
RETRY_AFTER_S = 5


class Found(IntEnum):
    """The result of the start checks."""

    NOT_YET = 0
    SOUND = 1
    FAULTS = 2


class StartChecks:
    """The state of the start checks, shared by the process that makes them and by the serving processes."""

    def __init__(self, found: Found = Found.NOT_YET) -> None:
        self._found = RawValue(ctypes.c_int, found)

    def note(self, found: Found) -> None:
        """Set the result of the checks."""
        self._found.value = found

    def require_sound(self, clock: Clock) -> None:
        """Wait for the result of the checks. Raises RefereeError `not-ready` for a fault, or after LONGEST_WAIT_S."""
        until_s = clock.monotonic_s() + LONGEST_WAIT_S
        never = threading.Event()
        while self._found.value == Found.NOT_YET:
            if clock.monotonic_s() >= until_s:
                sentence = "The referee is still checking its images and its database after its start; try again."
                raise RefereeError("not-ready", sentence, retry_after_s=RETRY_AFTER_S)
            clock.wait(never, clock.monotonic_s() + LOOK_S)
        if self._found.value == Found.FAULTS:
            sentence = (
                "The referee found a fault in its images, its key or its database, so no window opens; "
                "its log says which."
            )
            raise RefereeError("not-ready", sentence)
