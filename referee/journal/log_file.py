"""The journal file of an epoch, to which this host appends. When a call returns, its record is on disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path

from referee.errors import StorageFailed
from referee.journal.records import Change, Position, encode, read_records
from referee.operating_system import sync_content

SYNC_BYTES = 2**23
"""Bytes between two syncs while a copy of a whole contest is written."""
ROOM_BYTES = 2**18
"""Number of bytes by which a file grows at once: a sync is faster if the file's length does not change."""
_LOOK_BYTES = 4  # enough to tell a record, which begins with the magic bytes, from free space, which is zeros


def log_path(journal: Path, epoch: int) -> Path:
    """Return the path of the file with the records of an epoch."""
    return journal / f"{epoch:06}.log"


def begin_file(path: Path, parts: Iterable[bytes], aside: Path | None = None) -> None:
    """Write the file of an epoch with its first content, atomically; rename the former file to `aside`, if given.

    It is synced while it is written, so that no step waits for more than a few megabytes. Raises OSError.
    """
    partial = path.with_suffix(".partial")
    with partial.open("wb") as file:
        partial.chmod(0o600)
        unsynced = 0
        for part in parts:
            unsynced += file.write(part)
            if unsynced > SYNC_BYTES:
                file.flush()
                os.fsync(file.fileno())
                unsynced = 0
        file.flush()
        os.fsync(file.fileno())
    if aside is not None:
        path.rename(aside)
    partial.replace(path)
    _sync_folder(path.parent)


def make_folder(journal: Path) -> None:
    """Create the folder of a journal, readable by its owner only, if it is missing. Raises OSError."""
    if not journal.is_dir():
        journal.mkdir(mode=0o700)
        _sync_folder(journal.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def older_database(path: Path) -> StorageFailed:
    """Return the error for a database that lacks records of the journal, which a write would overwrite."""
    return StorageFailed(
        f"The database lacks transactions that are in the journal {path}: an older copy replaced the database while "
        "the database was in use. Nothing was accepted. For the operator: start the server again; the server then "
        "copies the missing transactions from the journal."
    )


class LogFile:
    """Appends records to a file. There is one writer at a time: the process that holds the database's lock."""

    def __init__(self, path: Path, room_bytes: int = ROOM_BYTES) -> None:
        """Open the file; a write that grows it leaves `room_bytes` free behind the records.

        Raises FileNotFoundError, OSError.
        """
        self._path = path
        self._room_bytes = room_bytes
        self._name = str(path)
        self._descriptor = os.open(path, os.O_RDWR)

    def append(
        self,
        former: Position,
        changes: Sequence[Change],
        require: Callable[[], None] | None = None,
    ) -> Position:
        """Write the record that follows `former`, and return the end of the record.

        Anything behind `former` belongs to a transaction that was never committed, and is overwritten. `require` is
        called once the record is on disk; if it raises an error, the caller removes the record with `take_back`. Raises
        StorageFailed, OSError.
        """
        start = former.size
        size = self._size_in_place(former)
        if size > start and any(os.pread(self._descriptor, _LOOK_BYTES, start)):
            self._require_uncommitted(former)
            os.ftruncate(self._descriptor, start)
            size = start

        data, link = encode(former, changes)
        end = Position(former.seq + 1, link, former.epoch, start + len(data))
        if end.size > size:
            data += bytes(self._room_bytes)
        self._write(data, start)
        sync_content(self._descriptor)
        if require is not None:
            require()
        return end

    def _write(self, data: bytes, at: int) -> None:
        written = os.pwrite(self._descriptor, data, at)
        while written < len(data):  # the disk is full: the next write raises the error
            written += os.pwrite(self._descriptor, data[written:], at + written)

    def _require_uncommitted(self, former: Position) -> None:
        """Raise StorageFailed if the file has more than one whole record behind `former`.

        A writer removes its own record that was not committed, so several records mean that the database is an older
        copy.
        """
        behind = sum(1 for _ in islice(read_records(self._path, former), 2))
        if behind > 1:
            raise older_database(self._path)

    def take_back(self, end: Position) -> None:
        """Cut the file at `end`, to remove a record behind it that was not committed. Raises OSError."""
        if os.fstat(self._descriptor).st_size > end.size:
            os.ftruncate(self._descriptor, end.size)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def _size_in_place(self, former: Position) -> int:
        """Return the file's length.

        Raises StorageFailed if the file was removed, replaced or moved, or ends before `former`.
        """
        ours = os.fstat(self._descriptor)
        try:
            there = os.stat(self._name)  # noqa: PTH116 - a part of every commit
        except FileNotFoundError:
            there = None
        if there is None or (ours.st_dev, ours.st_ino) != (there.st_dev, there.st_ino):
            problem = "was removed, replaced or moved while in use"
        elif ours.st_size < former.size:
            problem = f"was cut while in use, to {ours.st_size} of {former.size} bytes"
        else:
            return ours.st_size
        raise StorageFailed(
            f"The journal {self._path} {problem}, so nothing was accepted. For the operator: put the file back, or "
            "start the server again; the server then begins a new journal from the database."
        )
