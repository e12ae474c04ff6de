"""Processes that stand still: when kill returns, a stop signal is only sent, and threads go on until they see it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from tests.timeouts import TIMEOUT_S


def freeze(*processes: int) -> None:
    """Stop the processes and wait until each of their threads stands still."""
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    deadline_s = time.monotonic() + TIMEOUT_S
    while not all(map(_stands_still, processes)):
        assert time.monotonic() < deadline_s, "it goes on"
        time.sleep(0.002)


def _stands_still(process: int) -> bool:
    try:
        states = [
            one.read_text().rpartition(")")[2].split()[0]
            for one in Path(f"/proc/{process}/task").glob("*/stat")
        ]
    except OSError:  # a thread has just ended
        return False
    return set(states) == {"T"}
