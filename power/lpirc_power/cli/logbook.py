"""CSV file of a recording."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

from lpirc_power.cli.program import ProgramMissing
from lpirc_power.errors import MeterError
from lpirc_power.meter import Reading
from lpirc_power.presence import is_folder, is_there, status
from lpirc_power.recording import header_line, row


class Logbook:
    """The file of a recording: each reading is written as it arrives. Readings may come from any thread.

    A full disk stops the writing but not the measurement: `error` then holds the failure, and the file ends with its
    last complete row. A recording without readings creates no file and leaves an existing one unchanged.
    """

    def __init__(self, path: Path, *, force: bool) -> None:
        """Check that the file can be written, before the meter is changed; nothing is written yet."""
        self.path = path
        self.readings: list[Reading] = []
        self.error: OSError | None = None
        self.written = 0
        """Number of readings in the file."""
        self._force = force
        self._guard = threading.Lock()
        self._file: io.FileIO | None = None
        found = status(path)
        if found is not None:
            _require_name_of_file(path, found.st_mode)
            if not force:
                raise _exists(path)
        require_folder(path)

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Open the file for a with statement; remove a new file at the end if it has no reading."""
        is_new = not is_there(self.path)
        if not (is_new or self._force):  # made since the meter was armed
            raise _exists(self.path)
        try:
            # Without a buffer, no data remains to be written at the end.
            with self.path.open("ab", buffering=0) as file:
                if is_new:
                    self._begin(
                        file
                    )  # at once: a full disk shows before anything is measured
                self._file = file
                try:
                    yield
                finally:
                    with self._guard:
                        self._file = None
        except ProgramMissing:
            self.written = 0  # the readings so far are not those of the program
            raise
        finally:
            if is_new and not self.written:
                self.path.unlink(missing_ok=True)

    def take(self, reading: Reading) -> None:
        """Keep a reading and write it to the file."""
        with self._guard:
            self.readings.append(reading)
            if self._file is None or self.error is not None:
                return
            try:
                if not self.written:
                    if stat.S_ISREG(os.fstat(self._file.fileno()).st_mode):
                        self._file.truncate(0)
                    _add(self._file, header_line())
                _add(self._file, row(reading))
                self.written += 1
            except OSError as error:
                self.error = error

    def _begin(self, file: io.FileIO) -> None:
        try:
            _add(file, header_line())
        except OSError as error:
            raise MeterError(
                "recording-file", f"{self.path} cannot be written: {error.strerror}."
            ) from error


def _add(file: io.FileIO, line: str) -> None:
    """Write a whole line or none, so that a killed process or a full disk leaves only complete lines."""
    size = os.fstat(file.fileno()).st_size
    rest = f"{line}\n".encode()
    try:
        while rest:
            rest = rest[file.write(rest) :]
    except OSError:
        with contextlib.suppress(OSError):
            file.truncate(size)
        raise


def require_folder(path: Path) -> None:
    """Raise MeterError `recording-file` if the folder of a file does not exist; OSError if it cannot be checked."""
    if not is_folder(path.parent):
        sentence = f"There is no folder {str(path.parent)!r} to write {path.name} to; make it first."
        raise MeterError("recording-file", sentence)


def _require_name_of_file(path: Path, mode: int) -> None:
    kinds = {
        stat.S_IFDIR: "folder",
        stat.S_IFIFO: "pipe",
    }  # a pipe would be waited for, with the meter set up
    what = kinds.get(stat.S_IFMT(mode))
    if what is not None:
        raise MeterError(
            "recording-file", f"{path} is a {what}; give the name of a file."
        )


def _exists(path: Path) -> MeterError:
    return MeterError(
        "recording-file", f"{path} exists already; choose another name, or add --force."
    )
