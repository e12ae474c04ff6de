"""The CSV file that a recording is written to."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from power.errors import MeterError
from power.meter import Reading
from power.recording import RecordingWriter


class Logbook:
    """Owns the file of a recording: every reading is in it as it comes.

    A disk that takes no more ends the writing, not the measurement: `error` is what stood in the way.
    """

    def __init__(self, path: Path, *, force: bool) -> None:
        """Check the place, before anything is done to a meter; nothing is written yet."""
        self.path = path
        self.readings: list[Reading] = []
        self.error: OSError | None = None
        self._force = force
        self._writer: RecordingWriter | None = None
        if path.exists() and not force:
            raise _exists(path)
        if not path.parent.is_dir():
            raise MeterError(
                "recording-file",
                f"There is no folder {str(path.parent)!r} to write {path.name} to; make it first.",
                file=str(path),
            )

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Open the file for the length of a with statement; it is gone again if nothing was recorded."""
        with self._stream() as stream:
            self._writer = RecordingWriter(stream)
            try:
                yield
            finally:
                self._writer = None
                self._close(stream)
        if not self.readings and not self._force:
            self.path.unlink(missing_ok=True)

    def take(self, reading: Reading) -> None:
        """Record a reading."""
        self.readings.append(reading)
        if self._writer is None or self.error is not None:
            return
        try:
            self._writer.write(reading)
        except OSError as error:
            self.error = error

    def _stream(self) -> TextIO:
        try:
            return self.path.open("w" if self._force else "x", encoding="utf-8", newline="")
        except FileExistsError:
            raise _exists(self.path) from None

    def _close(self, stream: TextIO) -> None:
        try:
            stream.close()
        except OSError as error:  # it tries once more to write what the disk did not take
            self.error = self.error or error


def _exists(path: Path) -> MeterError:
    return MeterError(
        "recording-file", f"{path} exists already; choose another name, or add --force.", file=str(path)
    )
