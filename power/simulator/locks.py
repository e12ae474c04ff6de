"""The one lock of a VXI-11 device."""

from __future__ import annotations

import threading
from typing import Final

LOCKED: Final = 11
NOT_HELD: Final = 12


class DeviceLock:
    """Which link holds the device; every method returns a VXI-11 error, 0 for none."""

    def __init__(self) -> None:
        self._owner: int | None = None
        self._changed = threading.Condition()

    def acquire(self, link: int, wait_s: float) -> int:
        """Take the lock; a link that holds it already is refused like any other."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._owner is None, wait_s):
                return LOCKED
            self._owner = link
            return 0

    def passes(self, link: int, wait_s: float) -> int:
        """Say whether a link may use the device, after waiting at most `wait_s` for another to unlock it."""
        with self._changed:
            free = self._changed.wait_for(lambda: self._owner in (None, link), wait_s)
            return 0 if free else LOCKED

    def release(self, link: int) -> int:
        """Give the lock back."""
        with self._changed:
            if self._owner != link:
                return NOT_HELD
            self._owner = None
            self._changed.notify_all()
            return 0
