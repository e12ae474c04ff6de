"""Signs of life that a contest's server writes into the journal's folder, for the standby host to read.

They contain a count and no time, because the clocks of two hosts need not agree: the server is alive if the count
rises.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

BEAT_S = 1.0
"""Interval at which the server writes a sign of life."""

_BYTES = 256


@dataclass(frozen=True)
class Beat:
    """One sign of life: `count` rises with each one, and `is_ended` is True after the server was stopped in order."""

    count: int
    process: int
    is_ended: bool = False


def beat_path(journal: Path, epoch: int) -> Path:
    """Return the path of the file with the signs of life of an epoch's server."""
    return journal / f"{epoch:06}.beat"


def write_beat(journal: Path, epoch: int, beat: Beat) -> None:
    """Overwrite the last sign of life in place and sync it to disk."""
    text = json.dumps(asdict(beat))
    line = text.encode().ljust(_BYTES - 1) + b"\n"
    path = beat_path(journal, epoch)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        os.pwrite(descriptor, line, 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_beat(journal: Path, epoch: int) -> Beat | None:
    """Return the last sign of life of an epoch's server, or None if there is none."""
    try:
        content = beat_path(journal, epoch).read_bytes()
        return Beat(**json.loads(content))
    except (FileNotFoundError, ValueError, TypeError):
        return None
