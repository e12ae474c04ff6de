"""Argument types of the command line: each checks a number's range and words the error."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path

from lpirc_client.presence import is_folder

SECONDS = {"s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "ms": 0.001}

LONGEST_S = 1e9  # clocks and timers of the system overflow beyond it


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return an argument type for whole numbers from `least`, up to `most` if given."""

    def parse(text: str) -> int:
        value = int(text) if text.isascii() and text.isdigit() else -1
        if value < least or (most is not None and value > most):
            up_to = "" if most is None else f" to {most}"
            digits = re.sub(r"(?<=[0-9])[,'_. ](?=[0-9]{3}\b)", "", text)
            is_meant = digits != text and digits.isdigit()
            meant = f"; write {digits}" if is_meant else ""
            raise argparse.ArgumentTypeError(
                f"{text!r} is not a whole number from {least}{up_to}{meant}"
            )
        return value

    return parse


def a_name(text: str) -> str:
    """Return the text as a name, which has at least one letter."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the name is empty")
    return text


def any_path(text: str) -> Path:
    """Return the text as the path of a file or folder; an address, which a path would show altered, is refused."""
    if "://" in text:
        raise argparse.ArgumentTypeError(
            f"{text} is an address; name a file of this host"
        )
    return Path(text)


def file_path(text: str) -> Path:
    """Return the text as the path of a file to read; an address and a folder are refused."""
    path = any_path(text)
    if is_folder(path):
        raise argparse.ArgumentTypeError(f"{text} is a folder; name a file")
    return path


def seconds(text: str) -> float:
    """Return the text as a number of seconds from 0 to 1e9."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= LONGEST_S:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of seconds from 0 to {LONGEST_S:.0f}{_in_seconds(text)}"
        )
    return value


def _in_seconds(text: str) -> str:
    """Return a duration with a unit, or with a decimal comma, as seconds, for the end of a sentence."""
    parts = re.fullmatch(r"([0-9]+(?:[.,][0-9]+)?)\s*([a-z]*)", text)
    if parts is None or (parts[2] or "s") not in SECONDS:
        return ""
    value = float(parts[1].replace(",", ".")) * SECONDS[parts[2] or "s"]
    return f"; {text} is {value:g}" if value < LONGEST_S else ""


def positive_seconds(text: str) -> float:
    """Return the text as a number of seconds above 0, up to 1e9."""
    value = seconds(text)
    if value == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return value
