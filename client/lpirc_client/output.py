"""The only place that writes to the terminal: results to stdout, everything else to stderr."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path


def say(text: str) -> None:
    """Write one line to stderr, at once."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def result(text: str) -> None:
    """Write one line to stdout, at once."""
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except OSError:
        # Else Python tries once more at its end, and fails in its own words.
        with suppress(OSError), Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        raise
