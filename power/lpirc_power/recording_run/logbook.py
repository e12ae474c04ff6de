"""CSV file of a recording."""

from __future__ import annotations

import contextlib
import hashlib
import io
import logging
import os
import stat
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from lpirc_power.energy.reading_columns import ReadingColumns
from lpirc_power.errors import MeterError
from lpirc_power.meter import Reading
from lpirc_power.operating_system import locked_by_another
from lpirc_power.presence import is_folder, is_there, status
from lpirc_power.record.surviving_rows import surviving
from lpirc_power.recording import header_line, read_readings, row
from lpirc_power.recording_run.course import ProgramMissing

_log: Final = logging.getLogger(__name__)
OTHER_FORMATS: Final = frozenset(
    (
        *(".html", ".htm", ".pdf", ".docx", ".odt", ".md", ".txt"),
        *(".csv", ".tsv", ".json", ".jsonl", ".parquet", ".pq", ".xlsx", ".ods"),
        *(".png", ".svg", ".jpg", ".zip", ".gz"),
    )
)
"""Endings of names by which programs take a file for one of another format."""


class Logbook:
    """The file of a recording: each reading is written as it arrives. Readings may come from any thread.

    A full disk stops the writing but not the measurement: `error` then holds the failure, and the file ends with its
    last complete row. A recording without readings creates no file and leaves an existing one unchanged. Readings that
    are in the file are not kept in memory; `readings` reads them back. Whatever else has written to the file meanwhile:
    `damage` says so, and the rows that are left count.
    """

    def __init__(self, path: Path, *, force: bool) -> None:
        """Check that the file can be written, before the meter is changed; nothing is written yet."""
        self.path = path
        self.error: OSError | None = None
        self.taken = 0
        """Number of readings."""
        self.written = 0
        """Number of readings in the file."""
        self.last: Reading | None = None
        self.damage = ""
        self.is_discarded = False
        self._kept = ReadingColumns()  # those that are not in the file
        self._digest = hashlib.sha256()
        self._is_regular = False
        self._force = force
        self._guard = threading.Lock()
        self._file: io.FileIO | None = None
        require_free(path, force=force)

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Open the file for a with statement; remove a new file at the end if it has no reading."""
        is_new = not is_there(self.path)
        if not (is_new or self._force):  # made since the meter was armed
            raise _exists(self.path)
        try:
            # Without a buffer, no data remains to be written at the end.
            with self.path.open("a+b", buffering=0) as file:
                self._is_regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
                _require_alone(file, self.path)
                if is_new:
                    # At once: a full disk shows before anything is measured.
                    self._begin(file)
                self._file = file
                try:
                    yield
                    self._read_back(file)
                finally:
                    with self._guard:
                        self._file = None
        except ProgramMissing:
            self.discard()  # the readings so far are not those of the program
            raise
        finally:
            if is_new and not (self.written or self.damage):
                self.path.unlink(missing_ok=True)

    @property
    def readings(self) -> ReadingColumns:
        """The readings, once the file is closed without a failure."""
        return self._kept

    @property
    def sha256(self) -> str:
        """The SHA-256 of the file, in hexadecimal digits."""
        return self._digest.hexdigest()

    def sync(self) -> None:
        """Wait until the rows are on the disk: a record that has an end must not be there without them."""
        with self._guard, contextlib.suppress(OSError):
            if self._file is not None and self._is_regular:
                os.fsync(self._file.fileno())

    def discard(self) -> None:
        """Keep no reading of what never began; a new file is then removed when it is closed."""
        self.written = 0
        self.is_discarded = True

    def take(self, reading: Reading) -> None:
        """Write a reading to the file; keep it in memory if that is not possible."""
        with self._guard:
            self.taken += 1
            self.last = reading
            if self._file is None or self.error is not None:
                self._kept.append(reading)
                return
            try:
                if not self.written:
                    if self._is_regular:
                        self._file.truncate(0)
                    self._add(self._file, header_line())
                self._add(self._file, row(reading))
                self.written += 1
            except OSError as error:
                self.error = error
            if self.error is not None or not self._is_regular:
                self._kept.append(reading)

    def _add(self, file: io.FileIO, line: str) -> None:
        _add(file, line)
        self._digest.update(f"{line}\n".encode())

    def _read_back(self, file: io.FileIO) -> None:
        """Read what is in the file, in front of what is kept."""
        with self._guard:
            if not (self._is_regular and self.written):
                return
            found = self._found(file)
            for one in self._kept:
                found.append(one)
            if self.damage and self.last is not None and self.last not in found[-1:]:
                found.append(self.last)
            self._kept = found

    def _found(self, file: io.FileIO) -> ReadingColumns:
        """Return the readings in the file; what else has happened to it goes to `damage`."""
        try:
            content = _content(file)
            digest = hashlib.sha256(content)
            if digest.digest() == self._digest.digest():
                found = read_readings(self.path, file=file)
                self._keep_name(file, content)
                return found
        except (MeterError, OSError) as error:
            self.damage = f"{self.path} cannot be read back: {error}"
            self.written = 0
            return ReadingColumns()
        found = surviving(content.splitlines(keepends=True))
        self.damage = (
            f"Something else wrote to {self.path} while it was recorded: "
            f"{len(found)} of {self.written} rows are left."
        )
        self.written = len(found)
        self._digest = digest
        return found

    def _keep_name(self, file: io.FileIO, content: bytes) -> None:
        """Write the file again if it was removed; whatever took its place stays."""
        if _is_at(file, self.path):
            return
        try:
            with self.path.open("xb") as again:
                again.write(content)
            _log.warning(
                "%s was removed while it was recorded, and has been written again.",
                self.path,
            )
        except FileExistsError:
            self.damage = f"Something else took the place of {self.path} while it was recorded: its rows are lost."
            self.written = 0
        except OSError as error:
            self.damage = (
                f"{self.path} was removed while it was recorded, and cannot be written again "
                f"({error.strerror}): its rows are lost."
            )
            self.written = 0

    def _begin(self, file: io.FileIO) -> None:
        try:
            _add(file, header_line())
        except OSError as error:
            raise MeterError(
                "recording-file", f"{self.path} cannot be written: {error.strerror}."
            ) from error


def _content(file: io.FileIO) -> bytes:
    file.seek(0)
    return file.read()


def _is_at(file: io.FileIO, path: Path) -> bool:
    found = status(path)
    return found is not None and os.path.samestat(found, os.fstat(file.fileno()))


def _require_alone(file: io.FileIO, path: Path) -> None:
    """Raise MeterError `recording-file` if another recording writes to the file: --force would mix their rows."""
    if locked_by_another(file.fileno()):
        raise MeterError(
            "recording-file",
            f"Another recording is being written to {path}; choose another name.",
        )


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


def require_free(path: Path, *, force: bool) -> None:
    """Raise MeterError `recording-file` if no recording can be written to a path; with `force`, it may replace one."""
    found = status(path)
    if found is not None:
        _require_name_of_file(path, found.st_mode)
        if not force:
            raise _exists(path)
    require_folder(path)


def require_folder(path: Path) -> None:
    """Raise MeterError `recording-file` if the folder of a file does not exist; OSError if it cannot be checked."""
    if not is_folder(path.parent):
        sentence = f"There is no folder {str(path.parent)!r} to write {path.name} to; make it first."
        raise MeterError("recording-file", sentence)


def require_ending(path: Path, name: str, own: Sequence[str], option: str = "") -> None:
    """Raise MeterError `recording-file` for a name that ends as files of another format do.

    `own` are the usual endings of such a file, whose name for people is `name`.
    """
    ending = path.suffix.lower()
    if ending in OTHER_FORMATS.difference(own):
        better = path.with_suffix(own[0])
        sentence = f"{path} would be {name}, whose name does not end in {ending}; write {option}{better}."
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
