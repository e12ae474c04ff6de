"""The CSV file that a recording is written to."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from power.cli.program import ProgramMissing
from power.errors import MeterError
from power.meter import Reading
from power.recording import RecordingWriter


class Logbook:
    """Owns the file of a recording: every reading is in it as it comes. Readings may come from any thread.

    A disk that takes no more ends the writing, not the measurement: `error` is what stood in the way, and the file
    ends with its last complete row. A recording without readings leaves everything as it was: no new file, and an
    existing one unchanged.
    """

    def __init__(self, path: Path, *, force: bool) -> None:
        """Check the place, before anything is done to a meter; nothing is written yet."""
        self.path = path
        self.readings: list[Reading] = []
        self.error: OSError | None = None
        self._force = force
        self._guard = threading.Lock()
        self._stream: TextIO | None = None
        self._writer: RecordingWriter | None = None
        self._whole_bytes = 0
        self._written = 0
        if path.is_dir():
            raise MeterError("recording-file", f"{path} is a folder; give the name of a file.")
        if path.is_fifo():  # it would be waited for, with the meter set up
            raise MeterError("recording-file", f"{path} is a pipe; give the name of a file.")
        if path.exists() and not force:
            raise _exists(path)
        if not path.parent.is_dir():
            raise MeterError(
                "recording-file",
                f"There is no folder {str(path.parent)!r} to write {path.name} to; make it first.",
            )

    @property
    def written(self) -> int:
        """How many readings are in the file."""
        return self._written

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Open the file for the length of a with statement; a new one is gone again if no reading came into it."""
        stream, is_new = self._open()
        try:
            self._stream = stream
            if is_new:
                # At once: a full disk shows before anything is measured.
                self._begin(stream)
            yield
        except ProgramMissing:
            self._written = 0  # the readings so far are not those of the program
            raise
        finally:
            with self._guard:
                self._stream = self._writer = None
                self._close(stream)
            if is_new and not self._written:
                self.path.unlink(missing_ok=True)

    def take(self, reading: Reading) -> None:
        """Record a reading."""
        with self._guard:
            self.readings.append(reading)
            if self._stream is None or self.error is not None:
                return
            try:
                self._write(self._stream, reading)
            except OSError as error:
                self.error = error

    def _begin(self, stream: TextIO) -> None:
        try:
            self._writer = RecordingWriter(stream)
        except OSError as error:
            raise MeterError("recording-file", f"{self.path} cannot be written: {error.strerror}.") from error

    def _write(self, stream: TextIO, reading: Reading) -> None:
        if self._writer is None:
            if self.path.is_file():
                stream.truncate(0)
            self._writer = RecordingWriter(stream)
        self._writer.write(reading)
        self._written += 1
        self._whole_bytes = os.fstat(stream.fileno()).st_size

    def _open(self) -> tuple[TextIO, bool]:
        try:
            return self.path.open("x", encoding="utf-8", newline=""), True
        except FileExistsError:
            if not self._force:
                raise _exists(self.path) from None
        return self.path.open("a", encoding="utf-8", newline=""), False

    def _close(self, stream: TextIO) -> None:
        try:
            stream.close()
        except OSError as error:  # it tries once more to write what the disk did not take
            self.error = self.error or error
        if self.error is not None and self._written:
            with contextlib.suppress(OSError):
                if self.path.is_file():
                    os.truncate(self.path, self._whole_bytes)


def _exists(path: Path) -> MeterError:
    return MeterError("recording-file", f"{path} exists already; choose another name, or add --force.")
