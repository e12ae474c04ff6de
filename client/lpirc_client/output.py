"""The only place that writes to the terminal: results to stdout, everything else to stderr."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from pathlib import Path


def settle() -> None:
    """Let nothing fail, or land in another file, for want of a stream or of a character that it can write."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass  # closed by whoever started us: a file of ours would take its place
    os.close(descriptor)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 - for as long as we live
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


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
