"""The only place that writes to the terminal: results to stdout, everything else to stderr."""

from __future__ import annotations

import sys


def say(text: str) -> None:
    """Write one line to stderr, at once."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def result(text: str) -> None:
    """Write one line to stdout, at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
