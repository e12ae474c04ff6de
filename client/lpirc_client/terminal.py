"""Writes to the terminal: results to stdout, everything else to stderr."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from pathlib import Path


def prepare() -> None:
    """Ensure that neither closed streams nor characters that stdout cannot encode cause errors."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass  # a file opened later would otherwise take the number of a closed stream
    os.close(descriptor)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - open for the whole process
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def say(text: str) -> None:
    """Write one line to stderr at once, unless it is closed or its disk full: no run ends because of that."""
    with suppress(OSError):
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


def result(text: str) -> None:
    """Write one line to stdout at once. Raises OSError."""
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except OSError:
        # At exit Python would flush again and fail in its own words.
        with suppress(OSError), Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        raise
