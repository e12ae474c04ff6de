"""Files of Linux' sysfs as values, every failure a MeterError."""

from __future__ import annotations

from pathlib import Path

from power.errors import MeterError


def number(path: Path, remedy: str) -> int:
    """Return the whole number in a file; `remedy` is what to do when it may not be read.

    Raises MeterError `meter-permission`, `meter-lost` (it cannot be read), `meter-answer` (it is no number).
    """
    content = text(path, remedy)
    try:
        return int(content)
    except ValueError:
        raise MeterError(
            "meter-answer", f"{path} holds {content!r} where a whole number should be.", path=str(path)
        ) from None


def text(path: Path, remedy: str) -> str:
    """Return what is in a file; raises as `number`."""
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except PermissionError as error:
        raise MeterError(
            "meter-permission", f"{path} may not be read by this user; {remedy}", path=str(path)
        ) from error
    except OSError as error:
        raise MeterError(
            "meter-lost",
            f"{path} cannot be read ({error.strerror}); is the sensor still there?",
            path=str(path),
        ) from error


def folders(root: Path, pattern: str) -> list[Path]:
    """Return the folders that match, in the order of the numbers in their names; none if the root is not there."""
    found = [path for path in root.glob(pattern) if path.is_dir()]
    return sorted(found, key=lambda path: [(len(part), part) for part in path.parts])
