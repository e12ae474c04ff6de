"""Numbers of the command line: what argparse calls, and how it says that one is none."""

from __future__ import annotations

import argparse


def count(text: str) -> int:
    """A whole number from 1."""
    value = int(text) if text.isascii() and text.isdigit() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return value


MOST_THREADS = 1024
LONGEST_S = 1e9  # the system's clocks and timers do not take any number of seconds


def threads(text: str) -> int:
    """A whole number from 1 to 1024."""
    value = count(text)
    if value > MOST_THREADS:
        raise argparse.ArgumentTypeError(f"{text!r} is more than {MOST_THREADS} threads")
    return value


def seconds(text: str) -> float:
    """A number from 0 to 1e9."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= LONGEST_S:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return value


def some_seconds(text: str) -> float:
    """A number above 0, to 1e9."""
    value = seconds(text)
    if value == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value


def number(text: str) -> int:
    """A whole number from 0."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)
