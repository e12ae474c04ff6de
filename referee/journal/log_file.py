"""The file of an epoch that this host appends to. What a call has returned from is on its disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from referee.errors import StorageFailed
from referee.journal.records import Change, Position, encode


def log_path(journal: Path, epoch: int) -> Path:
    """The file with the records of an epoch."""
    return journal / f"{epoch:06}.log"


def begin_file(path: Path, parts: Iterable[bytes]) -> None:
    """Write the file of an epoch with what it begins with, whole or not at all. Raises OSError."""
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        partial.chmod(0o600)
        file.writelines(parts)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


class LogFile:
    """Appends records. One writer at a time: the lock of the database decides whose turn it is."""

    def __init__(self, path: Path) -> None:
        """Open it. Raises FileNotFoundError, OSError."""
        self._path = path
        self._descriptor = os.open(path, os.O_RDWR)

    def append(self, former: Position, changes: Sequence[Change], require: Callable[[], None]) -> Position:
        """Write the record that follows `former`, in the place of what stands behind it, and return its end.

        What stands there is of a transaction that was never committed. `require` is called once the record is on the
        disk; what it raises leaves the record for `take_back`. Raises StorageFailed, OSError.
        """
        self._require_in_place(former)
        data, link = encode(former, changes)
        if os.fstat(self._descriptor).st_size > former.size:
            os.ftruncate(self._descriptor, former.size)
        written = os.pwrite(self._descriptor, data, former.size)
        if written < len(data):  # the disk is full
            os.pwrite(self._descriptor, data[written:], former.size + written)
        os.fdatasync(self._descriptor)
        require()
        return Position(former.seq + 1, link, former.epoch, former.size + len(data))

    def take_back(self, end: Position) -> None:
        """Cut what stands behind `end`: it was not committed. Raises OSError."""
        if os.fstat(self._descriptor).st_size > end.size:
            os.ftruncate(self._descriptor, end.size)

    def close(self) -> None:
        """Close it."""
        os.close(self._descriptor)

    def _require_in_place(self, former: Position) -> None:
        ours = os.fstat(self._descriptor)
        try:
            there = self._path.stat()
        except FileNotFoundError:
            there = None
        if there is None or (ours.st_dev, ours.st_ino) != (there.st_dev, there.st_ino):
            problem = "was removed, replaced or moved while in use"
        elif ours.st_size < former.size:
            problem = f"was cut while in use, to {ours.st_size} of {former.size} bytes"
        else:
            return
        raise StorageFailed(
            f"The journal {self._path} {problem}, so nothing was taken. For the operator: put the file back, or start "
            "the server again: it begins the journal again from the database."
        )
