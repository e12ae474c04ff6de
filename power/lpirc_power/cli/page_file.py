"""Files that a command writes at once: a page, or an export."""

from __future__ import annotations

import os
from pathlib import Path

from lpirc_power.errors import MeterError
from lpirc_power.presence import is_folder, is_there
from lpirc_power.recording_run.logbook import require_folder


def write_page(path: Path, text: str, *, force: bool) -> None:
    """Write a file whole or not at all. Raises MeterError `recording-file`, OSError."""
    require_free(path, force=force)
    fresh = fresh_beside(path)
    try:
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def require_free(path: Path, *, force: bool) -> None:
    """Raise MeterError `recording-file` for a folder, a missing folder, or a file that exists without `force`."""
    if is_folder(path):
        sentence = f"{path} is a folder; give the name of a file."
        raise MeterError("recording-file", sentence)
    require_folder(path)
    if is_there(path) and not force:
        sentence = f"{path} exists already; choose another name, or add --force."
        raise MeterError("recording-file", sentence)


def fresh_beside(path: Path) -> Path:
    """Return the name of a temporary file in the same folder."""
    return path.with_name(f".{path.name}.{os.getpid()}")
