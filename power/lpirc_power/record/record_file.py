"""Files of records: written atomically, read with distrust."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Final

from lpirc_power.errors import MeterError
from lpirc_power.operating_system import sync_folder
from lpirc_power.presence import is_there
from lpirc_power.record.document import (
    FORMAT,
    AnyRecord,
    GroupRecord,
    Record,
    SeriesRecord,
)
from lpirc_power.record.plausible import implausible
from lpirc_power.record.stored_values import restored, stored
from lpirc_power.recording import require_file

SUFFIX: Final = ".json"
LARGEST_BYTES: Final = 128_000_000
"""Largest record that is read; twice what the most marks with the longest names need."""
_OTHER_JSON: Final = (b"[", b'"', b"null", b"true", b"false")
"""First bytes of JSON that is no object and no number."""
_KINDS: Final[Mapping[str, type[AnyRecord]]] = {
    "recording": Record,
    "series": SeriesRecord,
    "group": GroupRecord,
}


WANTED: Final = (
    "name the .csv file that `meter record` wrote, or the .json file beside it"
)


def record_path(recording: Path) -> Path:
    """Return the path of a recording's record: run.json for run.csv."""
    beside = recording.with_suffix(SUFFIX)
    return (
        beside if beside != recording else recording.with_name(recording.name + SUFFIX)
    )


def write_record(path: Path, record: AnyRecord) -> None:
    """Write a record so that a reader, also after a power failure, finds the former file or the new one, whole.

    Raises OSError.
    """
    # Half of a surrogate pair, as in the name of a file that is no text, is "?": a reader would refuse it.
    text = json.dumps(stored(record), indent=1, allow_nan=False, ensure_ascii=False)
    content = f"{text}\n".encode(errors="replace")
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with fresh.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
        sync_folder(path.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            fresh.unlink(missing_ok=True)
        raise


def read_record(path: Path) -> AnyRecord:
    """Return the record in a file.

    Raises MeterError: `recording-unreadable` (no such file, no permission), `recording-record` (not a record, of a
    later version, or with a value that it cannot have).
    """
    document = _document(path)
    kind = _kind(document)
    if kind is None:
        raise _wrong(path, f"it is not the record of a recording; {WANTED}")
    version = document.get("format")
    if not isinstance(version, int) or version < 1:
        raise _wrong(path, "its format has no number")
    if version > FORMAT:
        raise _wrong(path, f"it has a later format than {FORMAT}")
    try:
        record = restored(kind, document, "its record")
    except MeterError as error:
        raise _wrong(path, error.sentence.rstrip(".")) from None
    problem = implausible(record) if isinstance(record, Record) else ""
    if problem:
        raise _wrong(path, f"{problem}, which cannot be")
    for name in _names(record):
        if not is_plain(name):
            raise _wrong(path, f"it names the file {name[:80]!r}, outside its folder")
    return record


def is_json(path: Path, start: bytes) -> bool:
    """Return True if a file with these first bytes is JSON: a record, or something else in place of one.

    The heading of a table may begin as JSON other than an object does, so that needs the ending of a record.
    """
    text = start.lstrip(b"\xef\xbb\xbf \t\r\n")
    is_named = path.suffix.lower() == SUFFIX
    return text.startswith(b"{") or (is_named and text.startswith(_OTHER_JSON))


def has_record(path: Path) -> bool:
    """Return True if the file is there and says that it is a record. Raises OSError."""
    return is_there(path) and not why_no_record(path)


def why_no_record(path: Path) -> str:
    """Return why the file at a path is no record, as a sentence; empty if it says that it is one. Raises OSError."""
    if not is_there(path):
        return f"There is no record {path.name}."
    try:
        is_one = _kind(_document(path)) is not None
    except MeterError as error:
        return error.sentence
    return "" if is_one else f"{path.name} is not the record of a recording."


def _kind(document: dict[str, object]) -> type[AnyRecord] | None:
    """Return what a JSON document says that it is a record of; None if it is no record."""
    kind = document.get("kind")
    is_one = isinstance(kind, str) and "format" in document
    return _KINDS.get(str(kind)) if is_one else None


def is_plain(name: str) -> bool:
    """Return True for the name of a file in the same folder, on every system."""
    parts = (PurePosixPath(name).name, PureWindowsPath(name).name)
    return parts == (name, name) and name not in ("", ".", "..") and "\0" not in name


def _document(path: Path) -> dict[str, object]:
    try:
        require_file(path)
        with path.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except (OSError, ValueError) as error:
        why = (
            error.strerror if isinstance(error, OSError) else "no file has such a name"
        )
        raise MeterError(
            "recording-unreadable", f"The record {path} cannot be read: {why}."
        ) from error
    if len(content) > LARGEST_BYTES:
        raise _wrong(path, f"it has more than {LARGEST_BYTES} bytes")
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        raise _wrong(path, "it is not JSON, or was cut short") from None
    return found if isinstance(found, dict) else {}


def _names(record: AnyRecord) -> tuple[str, ...]:
    if isinstance(record, Record):
        return (record.file,)
    if isinstance(record, SeriesRecord):
        return (*record.warm_up, *record.recordings)
    return tuple(member.record for member in record.members)


def _wrong(path: Path, why: str) -> MeterError:
    return MeterError("recording-record", f"{path} cannot be used: {why}.")
