"""Reads the files and keys named on the verifiers' command lines."""

from __future__ import annotations

import re
import sys
from pathlib import Path


def read(path: Path) -> bytes:
    """Return the content of a file; exit with an error message if it cannot be read."""
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        sys.exit(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}")


def key(text: str | None) -> str | None:
    """Return the public key given by the user; exit with an error message if it is not a valid one."""
    if text is None:
        return None
    found = trimmed(text)
    if not re.fullmatch("[0-9a-f]{64}", found):
        sys.exit(f"--key {text!r} is not 64 hexadecimal digits")
    return found


def trimmed(text: str) -> str:
    """Return the text without the whitespace that gets copied along from a page."""
    return text.strip().rstrip("…").lower()
