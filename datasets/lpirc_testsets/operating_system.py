"""Services that only some systems have: POSIX locks, pipes among files, folders that can be synced and replaced."""

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
        """Open a file for reading, on Windows as bytes: it has no pipes among its files that could be waited for."""
        return os.open(path, os.O_RDONLY | os.O_BINARY)

    def wait_for_content(descriptor: int) -> None:
        """Nothing on Windows: what `open_at_once` opens there waits anyway."""

    def sync(path: Path) -> None:
        """Wait until a file is on disk. Raises OSError. Windows cannot wait for the names in a folder."""
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
        """Rename a folder to `out`, which may be an empty folder; on Windows that is removed first. Raises OSError."""
        with suppress(FileNotFoundError):
            out.rmdir()
        folder.rename(out)

    @contextmanager
    def only_user(folder: Path) -> Iterator[None]:
        """Hold the lock of a folder, which ends with the process. Raises BlockingIOError if another process has it.

        Windows opens no folder: there it is the lock of a file beside it, which is removed at the end.
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
        """Open a file for reading; on POSIX a pipe without a writer is not waited for."""
        return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)

    def wait_for_content(descriptor: int) -> None:
        """Let reads wait for the writer of a pipe that `open_at_once` has opened."""
        os.set_blocking(descriptor, True)

    def sync(path: Path) -> None:
        """Wait until a file, or the names in a folder, are on disk. Raises OSError."""
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
        """Hold the lock of a folder, which ends with the process. Raises BlockingIOError if another process has it."""
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        finally:
            os.close(descriptor)
