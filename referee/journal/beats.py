"""Signs of life that the server of a contest leaves in the journal's folder, for the host that stands by.

They say nothing of time: two hosts' clocks need not agree. What counts is whether the count goes on.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

BEAT_S = 1.0
"""How often the server writes one."""

_BYTES = 256


@dataclass(frozen=True)
class Beat:
    """One sign of life: `count` goes up; `is_ended` says that the server was ended in order, so nothing is wrong."""

    count: int
    process: int
    is_ended: bool = False


def beat_path(journal: Path, epoch: int) -> Path:
    """Where the server of an epoch leaves its signs of life."""
    return journal / f"{epoch:06}.beat"


def write_beat(journal: Path, epoch: int, beat: Beat) -> None:
    """Replace the last sign of life, in place and onto the disk."""
    text = json.dumps(asdict(beat)).encode().ljust(_BYTES - 1) + b"\n"
    descriptor = os.open(beat_path(journal, epoch), os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        os.pwrite(descriptor, text, 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_beat(journal: Path, epoch: int) -> Beat | None:
    """The last sign of life of an epoch's server; None if it has left none."""
    try:
        return Beat(**json.loads(beat_path(journal, epoch).read_bytes()))
    except (FileNotFoundError, ValueError, TypeError):
        return None
