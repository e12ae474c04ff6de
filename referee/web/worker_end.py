"""Ends the worker process after an answer; the supervisor starts another one, which reads the settings anew."""

from __future__ import annotations

import logging
import os
import signal
import threading

from referee.clock import Clock

ANSWER_S = 0.3
"""Time for the answer to leave."""

logger = logging.getLogger(__name__)


def end_worker_soon() -> None:
    """End this worker process once its present answers have left."""
    threading.Thread(target=_end, name="end-worker", daemon=True).start()


def _end() -> None:
    clock = Clock()
    clock.wait(threading.Event(), clock.monotonic_s() + ANSWER_S)
    logger.info("the worker ends and another one starts, with the new settings")
    os.kill(os.getpid(), signal.SIGTERM)
