"""Argument types of the command line: each checks a number's range and words the error."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

LONGEST_S = 1e9  # clocks and timers of the system overflow beyond it


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return an argument type for whole numbers from `least`, up to `most` if given."""

    def parse(text: str) -> int:
        value = int(text) if text.isascii() and text.isdigit() else -1
        if value < least or (most is not None and value > most):
            up_to = "" if most is None else f" to {most}"
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a whole number from {least}{up_to}"
            )
        return value

    return parse


def any_path(text: str) -> Path:
    """Return the text as the path of a file or folder; an address, which a path would show altered, is refused."""
    if "://" in text:
        raise argparse.ArgumentTypeError(
            f"{text} is an address; name a file of this host"
        )
    return Path(text)


def seconds(text: str) -> float:
    """Return the text as a number of seconds from 0 to 1e9."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= LONGEST_S:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of seconds from 0 to {LONGEST_S:g}"
        )
    return value


def positive_seconds(text: str) -> float:
    """Return the text as a number of seconds above 0, up to 1e9."""
    value = seconds(text)
    if value == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value
