"""Reading a text file whole, with failures that name it."""

from __future__ import annotations

from pathlib import Path

from testsets.errors import TestSetError
from testsets.file_bytes import file_bytes


def read_text(path: Path) -> str:
    """Read a UTF-8 file, without a byte order mark.

    Raises TestSetError `ground-truth-missing` or `ground-truth-unreadable`.
    """
    try:
        return file_bytes(path).decode("utf-8-sig")
    except FileNotFoundError as error:
        raise TestSetError("ground-truth-missing", f"{path}: no such file") from error
    except OSError as error:
        raise TestSetError("ground-truth-unreadable", f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TestSetError(
            "ground-truth-unreadable", f"{path}: byte {error.start} is not UTF-8 text"
        ) from error
