"""What a program does when the reader of its output has gone (`| head`)."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def abandon_stdout() -> None:
    """Send what is still to be written to nowhere.

    Otherwise the interpreter writes it at exit, fails again, and Python 3.13 makes that exit code 120.
    """
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
