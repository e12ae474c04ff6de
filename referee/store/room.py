"""Room on the disk: who sends without end must not take it from the others, for whom a full disk is the end, too."""

from __future__ import annotations

import logging
from collections.abc import Callable

from referee.errors import RefereeError

logger = logging.getLogger(__name__)
STEP_BYTES = 2**24  # what a run is granted at once: asking the system lets other threads take the interpreter


class Room:
    """A run may take as much of the disk as it leaves free to the others.

    `free_bytes` tells how much is free now. A run that sends without end takes half of what there was, two such runs
    a third each.
    """

    def __init__(self, free_bytes: Callable[[], int]) -> None:
        self._free_bytes = free_bytes
        self._granted: dict[int, int] = {}
        self._refused: set[int] = set()

    def require(self, run: int, taken_bytes: int, more_bytes: int) -> None:
        """Raises RefereeError `no-room` when a run that has taken so many bytes may not take more."""
        wanted = taken_bytes + more_bytes
        if wanted <= self._granted.get(run, 0):
            return
        left = self._free_bytes() - more_bytes
        if wanted > left:
            if run not in self._refused:
                self._refused.add(run)
                logger.warning(
                    "run %d has %d bytes of detections on disk and gets no more room", run, taken_bytes
                )
            raise RefereeError(
                "no-room",
                f"Run {run} has {taken_bytes / 1e6:.1f} MB of detections on the referee's disk, and the last "
                f"{max(left, 0) / 1e6:.1f} MB there are kept for others; send fewer, and tell the operator.",
            )
        self._granted[run] = wanted + min(STEP_BYTES, (left - wanted) // 8)
