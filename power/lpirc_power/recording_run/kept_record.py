"""The record file of one recording, from its beginning to its end."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from importlib import metadata
from pathlib import Path

from lpirc_power.errors import MeterError
from lpirc_power.presence import is_there, status
from lpirc_power.record.document import AnyRecord, Record
from lpirc_power.record.record_file import has_record, record_path, write_record


def program_version() -> str:
    """Return the version of this distribution; empty if it is not installed."""
    try:
        return metadata.version("lpirc-power")
    except metadata.PackageNotFoundError:
        return ""


def printable(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a command line, with a replacement for bytes that are no text."""
    return tuple(
        one.encode(errors="surrogateescape").decode(errors="replace") for one in words
    )


def require_free_record(recording: Path, *, force: bool) -> Path:
    """Return the path of a recording's record.

    Raises MeterError `recording-file` if it exists and may not be replaced: with `force`, only another record may.
    """
    path = record_path(recording)
    if not is_there(path):
        return path
    if not force:
        raise MeterError(
            "recording-file",
            f"{path}, where the record of {recording.name} would be, exists already; choose another name, or add "
            "--force.",
        )
    if not has_record(path):
        raise MeterError(
            "recording-file",
            f"{path} would be the record of {recording.name}, but exists already and is something else; choose "
            "another name.",
        )
    return path


def require_text_name(recording: Path) -> None:
    """Raise MeterError `recording-file` for a name that is no text: a record of several files could not name them."""
    try:
        recording.name.encode()
    except UnicodeEncodeError:
        raise MeterError(
            "recording-file",
            f"{recording.name!a} is not a name in UTF-8, and the record of several recordings names them; choose "
            "another name.",
        ) from None


class KeptRecord:
    """The record file of one recording. A disk that fails costs the file, not the measurement: `error` holds why.

    A new file is made at once; a former one is replaced when the integrator runs. A recording without a file of its own
    (a device) has no record.
    """

    def __init__(self, record: Record, recording: Path, *, force: bool) -> None:
        """Check that the file can be written; nothing is written yet."""
        self.record = record
        self.error: OSError | None = None
        found = status(recording)
        is_file = found is None or recording.is_file()
        self.path = require_free_record(recording, force=force) if is_file else None
        self._is_new = self.path is not None and not is_there(self.path)

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Write the record without an end; remove a new file if a with statement leaves no recording."""
        if self._is_new and self.path is not None:
            self._claim(self.path)
            self.write()
            if self.error is not None:
                why = self.error.strerror or self.error
                raise MeterError(
                    "recording-file", f"{self.path} cannot be written: {why}."
                )
        yield

    def _claim(self, path: Path) -> None:
        """Make the file, so that of two recordings of one name only one goes on."""
        try:
            path.open("xb").close()
        except FileExistsError:
            self._is_new = False
            raise MeterError(
                "recording-file",
                f"{path} was made by another recording meanwhile; choose another name.",
            ) from None
        except OSError as error:
            self.error = error

    def remove_new(self) -> None:
        """Remove the file, unless it replaced a former one."""
        if self._is_new and self.path is not None:
            self.path.unlink(missing_ok=True)

    def write(self, **fresh: object) -> None:
        """Write the record with the given fields."""
        self.record = replace(self.record, **fresh)  # type: ignore[arg-type]
        self.error = written(self.path, self.record)


def written(path: Path | None, record: AnyRecord) -> OSError | None:
    """Write a record; return the failure, None if there was none."""
    try:
        if path is not None:
            write_record(path, record)
    except OSError as error:
        return error
    return None
