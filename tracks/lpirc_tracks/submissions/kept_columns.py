"""Stores the detections of a checked file as columns, so that scoring does not parse the file again.

The columns are a cache: if they are missing or damaged, they are made again from the file.
"""

from __future__ import annotations

import secrets
import zipfile
from contextlib import suppress
from pathlib import Path

import numpy as np

from lpirc_score import Detections

COLUMNS = "columns"
"""The folder for the columns, inside the contest folder."""


def write_columns(path: Path, given: Detections) -> None:
    """Store columns at a path; do nothing if there is no free space."""
    partial = path.with_name(f".{secrets.token_hex(8)}.partial")
    present = {
        name: column for name, column in vars(given).items() if column is not None
    }
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with partial.open("wb") as file:
            np.savez(file, **present)
        partial.replace(path)
    except OSError:
        with suppress(OSError):
            partial.unlink()


def read_columns(path: Path) -> Detections | None:
    """Return the columns at a path, or None if they are missing or damaged."""
    try:
        with np.load(path, allow_pickle=False) as kept:
            return Detections(**kept)
    except (OSError, ValueError, TypeError, KeyError, EOFError, zipfile.BadZipFile):
        return None
