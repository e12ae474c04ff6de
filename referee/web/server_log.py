"""What `serve` says on stderr while it serves: warnings, and what happens to runs."""

from __future__ import annotations

import logging
import select
import sys
from typing import Any


def never_waits(record: logging.LogRecord) -> bool:
    """Drop news that stderr cannot take at once: a terminal stopped by Ctrl-S must not hold up a run."""
    if record.levelno >= logging.WARNING:
        return True
    try:
        return bool(select.select([], [sys.stderr], [], 0)[1])
    except (OSError, ValueError):
        return False


LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": "plain", "filters": [never_waits]}
    },
    "root": {"level": "WARNING", "handlers": ["stderr"]},
    "loggers": {"referee": {"level": "INFO"}},
}
