"""Functions that differ between operating systems: POSIX locks, named pipes, syncing and replacing folders."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def open_at_once(path: Path) -> int:
        """Open a file for reading in binary mode. Windows has no named pipes among its files, so this never blocks."""
        return os.open(path, os.O_RDONLY | os.O_BINARY)

    def wait_for_content(descriptor: int) -> None:
        """Do nothing: on Windows, reads of what `open_at_once` has opened block anyway."""

    def sync(path: Path) -> None:
        """Wait until a file is on disk. Raises OSError. For a folder it does nothing, since Windows cannot sync one."""
        if path.is_dir():
            return
        descriptor = os.open(
            path, os.O_RDWR | os.O_BINARY
        )  # it syncs only what may be written
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def put_in_place(folder: Path, out: Path) -> None:
        """Rename a folder to `out`, which may be an empty folder; Windows needs it removed first. Raises OSError."""
        with suppress(FileNotFoundError):
            out.rmdir()
        folder.rename(out)

    @contextmanager
    def only_user(folder: Path) -> Iterator[None]:
        """Hold the lock of a folder until the block or the process ends.

        Raises BlockingIOError if another process holds it. Windows cannot open a folder, so the lock is on a file
        beside it, which is removed when the block ends.
        """
        beside = folder.with_name(f"{folder.name}.lock")
        descriptor = os.open(beside, os.O_RDWR | os.O_CREAT)
        try:
            _lock_byte(descriptor)
            yield
        finally:
            os.close(descriptor)
            with suppress(OSError):  # another process has it open
                beside.unlink()

    def _lock_byte(descriptor: int) -> None:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError as error:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from error

else:
    import fcntl

    def open_at_once(path: Path) -> int:
        """Open a file for reading without blocking on a pipe that has no writer."""
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def wait_for_content(descriptor: int) -> None:
        """Make reads block until a pipe opened by `open_at_once` has content."""
        os.set_blocking(descriptor, True)

    def sync(path: Path) -> None:
        """Wait until a file, or the entries of a folder, are on disk. Raises OSError."""
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        except OSError as error:
            if (
                error.errno != errno.EINVAL
            ):  # a file system that cannot, such as some over a network
                raise
        finally:
            os.close(descriptor)

    def put_in_place(folder: Path, out: Path) -> None:
        """Rename a folder to `out`, which may be an empty folder. Raises OSError."""
        folder.replace(out)

    @contextmanager
    def only_user(folder: Path) -> Iterator[None]:
        """Hold the lock of a folder until the block or the process ends.

        Raises BlockingIOError if another process holds it.
        """
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        finally:
            os.close(descriptor)
