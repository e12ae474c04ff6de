"""Files that a command writes at once: a page, or an export."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Final

from lpirc_power.errors import MeterError
from lpirc_power.presence import is_folder, is_there
from lpirc_power.recording_run.logbook import require_ending, require_folder

FIRST_BYTES: Final = 64


class Kind(Enum):
    """Kinds of files that a command writes: the name for people, the first bytes, and the usual endings."""

    PAGE = ("a page", b"<!doctype html", (".html", ".htm"))
    PARQUET = ("a Parquet file", b"PAR1", (".parquet", ".pq"))

    def is_of(self, content: bytes) -> bool:
        """Return True for the first bytes of such a file, and for an empty one, which holds nothing to lose."""
        _, start, _ = self.value
        return content[: len(start)].lower() == start.lower() or not content


def write_page(path: Path, text: str, *, force: bool) -> None:
    """Write a file whole or not at all. Raises MeterError `recording-file`, OSError."""
    require_free(path, force=force)
    with written_whole(path) as fresh:
        # Half of a surrogate pair, as in the name of a file that is no text, is "?".
        fresh.write_text(text, encoding="utf-8", errors="replace")


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give a temporary file for a with statement, which then takes the place of a path.

    Raises MeterError `recording-file`, which names the path and not the temporary file.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield fresh
        fresh.replace(path)
    except OSError as error:
        if error.filename not in (None, str(fresh)):
            raise
        why = error.strerror or error
        raise MeterError(
            "recording-file", f"{path} cannot be written: {why}."
        ) from error
    finally:
        with contextlib.suppress(OSError):
            fresh.unlink(missing_ok=True)


def beside(file: Path, ending: str) -> Path:
    """Return the path of a file beside another one: run.html for run.csv.

    Raises MeterError `recording-unreadable` for a folder that has no name of its own, such as "." or "/".
    """
    if not file.name:
        raise MeterError(
            "recording-unreadable",
            f"The recording {file} cannot be read: it is a folder; give the name of a file.",
        )
    return file.with_suffix(ending)


def require_free(path: Path, kind: Kind = Kind.PAGE, *, force: bool) -> None:
    """Raise MeterError `recording-file` for a folder, a missing folder, or a file that exists without `force`.

    The name may have any ending but one of another format.
    Even with `force` a file of another kind stays: it may be the recording that is read, or its record.
    """
    if is_folder(path):
        sentence = f"{path} is a folder; give the name of a file."
        raise MeterError("recording-file", sentence)
    require_folder(path)
    name, _, own = kind.value
    if is_there(path) and not kind.is_of(_first_bytes(path)):
        sentence = f"{path} exists and is not {name}, so it is not overwritten, with or without --force; "
        raise MeterError("recording-file", f"{sentence}choose another name.")
    if is_there(path) and not force:
        sentence = f"{path} exists already; choose another name, or add --force."
        raise MeterError("recording-file", sentence)
    require_ending(path, name, own, "-o ")


def _first_bytes(path: Path) -> bytes:
    """Return the first bytes of a file. Raises MeterError `recording-file` if it is no file, such as a pipe."""
    if not path.is_file():
        raise MeterError(
            "recording-file", f"{path} is not a file; choose another name."
        )
    with path.open("rb") as file:
        return file.read(FIRST_BYTES)
