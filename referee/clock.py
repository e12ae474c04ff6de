"""The only module that reads clocks: windows use the monotonic clock, records use UTC."""

from __future__ import annotations

import sys
import threading
import time
from datetime import UTC, datetime

from referee import operating_system

LONGEST_WAIT_S = (
    1.0  # waiting on an event does not count the time that the host is suspended
)


class Clock:
    """The host's clocks. Code that needs the time gets a Clock as an argument; tests pass a fake one."""

    def monotonic_s(self) -> float:
        """Return the seconds since an arbitrary start; the clock never steps.

        It is the same in all processes of one boot, and it goes on while the host is suspended, as the meter does. On
        macOS that is CLOCK_MONOTONIC, which differs from Python's monotonic clock.
        """
        if sys.platform == "linux":
            return time.clock_gettime(time.CLOCK_BOOTTIME)
        return time.clock_gettime(time.CLOCK_MONOTONIC)

    def of_process_s(self, monotonic_s: float) -> float:
        """Convert a time of Python's monotonic clock, from any process of this host, to a time of this clock.

        The two differ by how long the host has been suspended, which must not change between the reading and this call.
        """
        return monotonic_s + self.monotonic_s() - time.monotonic()

    def process_s(self) -> float:
        """Return the processor time that this process has used, in seconds."""
        return time.process_time()

    def utc(self) -> datetime:
        """Return the wall-clock time, for records only."""
        return datetime.now(UTC)

    def wait(self, event: threading.Event, until_s: float) -> bool:
        """Wait until `event` is set (True) or the monotonic clock reaches `until_s` (False)."""
        while not event.is_set():
            remaining_s = until_s - self.monotonic_s()
            if remaining_s <= 0:
                return False
            event.wait(min(remaining_s, LONGEST_WAIT_S))
        return True

    def boot_id(self) -> str | None:
        """Return the id of the boot that the monotonic clock belongs to, or None if the system does not state it."""
        return operating_system.boot_id()
