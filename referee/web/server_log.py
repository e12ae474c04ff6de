"""The log of `serve` on stderr: warnings and the events of runs, each logged by the package where it happens.

A terminal stopped by Ctrl-S blocks its writers. A run must not wait for that, nor a commit that several runs share.
Therefore a separate thread writes.
"""

from __future__ import annotations

import atexit
import logging
import queue
import sys
import threading
from contextlib import suppress
from typing import Any

LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"
MOST_WAITING = 1000
PAUSE_S = 60.0  # a repeated warning is written again after this time
FLUSH_TIMEOUT_S = 1.0  # for the last lines, when the process ends


class BackgroundHandler(logging.Handler):
    """Writes to stderr in a thread. Drops repeated lines, and any line while MOST_WAITING lines wait."""

    def __init__(self) -> None:
        super().__init__()
        self._written_s: dict[
            str, float
        ] = {}  # the warnings of the last minute, and when
        self._lines: queue.Queue[str] = queue.Queue(MOST_WAITING)
        self._writer: threading.Thread | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Queue one record without waiting."""
        try:
            if record.levelno >= logging.WARNING and self._repeats(record):
                return
            line = self.format(record)
        except Exception:  # noqa: BLE001 - a line that cannot be written must not undo what it reports
            self.handleError(record)
            return
        if (
            self._writer is None or not self._writer.is_alive()
        ):  # a fork does not copy the thread
            self._begin()
        with suppress(queue.Full):
            self._lines.put_nowait(line)

    def _repeats(self, record: logging.LogRecord) -> bool:
        now_s = record.created
        text = f"{record.msg} {record.args} {record.exc_info and record.exc_info[1]!r}"
        recent = {
            key: when_s
            for key, when_s in self._written_s.items()
            if abs(now_s - when_s) < PAUSE_S
        }
        self._written_s = {text: now_s} | recent
        return text in recent

    def _begin(self) -> None:
        self._lines = queue.Queue(MOST_WAITING)
        self._writer = threading.Thread(
            target=self._write, name="server-log", daemon=True
        )
        self._writer.start()
        atexit.register(self._finish)

    def _write(self) -> None:
        while True:
            line = self._lines.get()
            with suppress(
                OSError, ValueError, AttributeError
            ):  # closed, or there was none from the start
                sys.stderr.write(f"{line}\n")
                sys.stderr.flush()
            self._lines.task_done()

    def _finish(self) -> None:
        written = threading.Thread(target=self._lines.join, daemon=True)
        written.start()
        written.join(FLUSH_TIMEOUT_S)


LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": LINE}},
    "handlers": {
        "stderr": {
            "class": "referee.web.server_log.BackgroundHandler",
            "formatter": "plain",
        }
    },
    "root": {"level": "WARNING", "handlers": ["stderr"]},
    "loggers": {"referee": {"level": "INFO"}},
}
