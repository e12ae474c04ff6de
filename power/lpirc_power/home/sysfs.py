"""Values from files of Linux sysfs; every failure is a MeterError."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from lpirc_power.errors import MeterAnswerError, MeterError, MeterLost
from lpirc_power.presence import is_folder, is_there, names

SHOWN_LENGTH: Final = 60
"""Maximum number of characters of a file that an error message quotes."""
_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,20}")
"""Numbers that the kernel writes (64 bits); Python would also accept 1_0, and numbers too large for a float."""


def number(path: Path, remedy: str) -> int:
    """Return the whole number in a file; `remedy` says what to do if reading is not permitted.

    Raises MeterError `meter-permission`, `meter-lost` (it cannot be read), `meter-answer` (it is not a number).
    """
    content = text(path, remedy)
    if _WHOLE.fullmatch(content):
        return int(content)
    shown = (
        repr(content)
        if len(content) <= SHOWN_LENGTH
        else f"{content[:SHOWN_LENGTH]!r}..."
    )
    raise MeterAnswerError(f"{path} holds {shown} where a whole number should be.")


def text(path: Path, remedy: str) -> str:
    """Return the text of a file; raises the errors of `number`."""
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except PermissionError as error:
        raise MeterError(
            "meter-permission", f"{path} may not be read by this user; {remedy}"
        ) from error
    except OSError as error:
        raise _lost(path, error) from error


def exists(path: Path) -> bool:
    """Return True if the file exists; MeterError `meter-lost` if that cannot be checked."""
    try:
        return is_there(path)
    except OSError as error:
        raise _lost(path, error) from error


def folders(root: Path, *patterns: str) -> list[Path]:
    """Return the folders below `root` that match the patterns, one per level, sorted by the numbers in their names.

    The result is empty if the root does not exist. Raises MeterError `meter-lost` if a folder cannot be listed.
    """
    found = [root]
    for pattern in patterns:
        found = [inner for outer in found for inner in _inside(outer, pattern)]
    return sorted(found, key=lambda path: [(len(part), part) for part in path.parts])


def _inside(outer: Path, pattern: str) -> list[Path]:
    try:
        matching = [outer / name for name in names(outer) if fnmatchcase(name, pattern)]
        return [inner for inner in matching if is_folder(inner)]
    except OSError as error:
        raise _lost(Path(error.filename or outer), error) from error


def _lost(path: Path, error: OSError) -> MeterError:
    return MeterLost(
        f"{path} cannot be read ({error.strerror}); is the sensor still there?"
    )
