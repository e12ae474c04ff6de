"""Reads files that the user names, without waiting for pipes that have no writer."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path

from lpirc_testsets.close_names import closest
from lpirc_testsets.errors import TestSetError
from lpirc_testsets.operating_system import open_at_once, wait_for_content
from lpirc_testsets.presence import is_file, is_folder, is_there
from lpirc_testsets.system_failures import reason_of
from lpirc_testsets.values import shown

_SHOWN_BEFORE = 16
_SHOWN = 36
IS_UTF16 = "it is UTF-16 text; save it as UTF-8"
_AS_CSV = "save its table as CSV in UTF-8, and give that file"
_ZIP = b"PK\x03\x04"
_START_OF_ZIP = 1 << 13
_START_OF_TEXT = 1 << 10
_KINDS = {
    b"\x93NUMPY": "it is a NumPy array; in Python, "
    'numpy.savetxt("new.csv", numpy.load("FILE"), delimiter=",", fmt="%.10g") writes it as CSV',
    _ZIP: "it is a ZIP archive; unpack it, and give the file or folder in it",
    b"\xd0\xcf\x11\xe0": f"it is a workbook of Excel; {_AS_CSV}",
    b"PAR1[\0-\x1f]": 'it is Parquet; in Python, pandas.read_parquet("FILE").to_csv("new.csv", index=False) '
    "writes it as CSV",
    b"\x89HDF": "it is HDF5; write its table as CSV, and give that file",
    b"\x1f\x8b": "it is compressed by gzip; unpack it with gunzip, and give the file in it",
    b"BZh[1-9]1AY&SY": "it is compressed by bzip2; unpack it with bunzip2, and give the file in it",
    b"SQLite format 3\0": f"it is an SQLite database; {_AS_CSV}",
    b"%PDF-[0-9][.][0-9][\r\n]": f"it is a PDF document; {_AS_CSV}",
    b"\xff\xd8\xff": "it is a JPEG image; give a file of text",
    b"\x89PNG": "it is a PNG image; give a file of text",
    b"\x80\x02": "it is a pickle of Python; write its content as CSV or JSON",
    b"\x80\x03": "it is a pickle of Python; write its content as CSV or JSON",
    b"\x80\x04": "it is a pickle of Python; write its content as CSV or JSON",
    b"\x80\x05": "it is a pickle of Python; write its content as CSV or JSON",
}
"""Patterns of the first bytes of files that are not text, and what to do about them; a name of an image is none."""
OF_BUNDLE = "manifest.dsse.json"
"""The second file of a run's bundle; only bundles have it."""
IS_BUNDLE = (
    "it is the bundle of a run; `referee bundle verify` judges it again, and `referee run export` writes the run's "
    "detections"
)
_IN_ZIP = {
    OF_BUNDLE.encode(): IS_BUNDLE,
    b"xl/": f"it is a workbook of Excel; {_AS_CSV}",
    b"[Content_Types].xml": f"it is a workbook of Excel or another document of Office; {_AS_CSV}",
    b"opendocument.spreadsheet": f"it is a workbook of LibreOffice; {_AS_CSV}",
}
"""Names near the beginning of ZIP archives."""


Name = str | os.PathLike[str]
"""The name of a file or folder."""


def path_of(name: Name) -> Path:
    """Return the path of a file or folder. Raises TestSetError `bad-argument` for anything but text or a path."""
    found = os.fspath(name) if isinstance(name, os.PathLike) else name
    if isinstance(found, str) and found and "\0" not in found:
        return Path(found)
    sentence = (
        f"{shown(name)} was given as file or folder, not its name as text or as a path."
    )
    raise TestSetError("bad-argument", sentence)


def file_bytes(path: Path, most_bytes: int = -1) -> bytes:
    """Return the content of a file, or of a pipe that has a writer, at most `most_bytes` if given.

    Raises OSError with the file's name, also for a pipe without a writer, which would block, and for a device.
    """
    try:
        return _read(path, most_bytes)
    except OSError as error:  # that of an open file lacks the name
        raise OSError(error.errno, error.strerror, str(path)) from error


def read_text(path: Path) -> str:
    """Return a UTF-8 file's text without its byte order mark.

    Raises TestSetError `ground-truth-missing` or `ground-truth-unreadable`.
    """
    try:
        return utf8_text(path, file_bytes(path))
    except FileNotFoundError as error:
        raise TestSetError(
            "ground-truth-missing", f"{path}: {no_such_file(path)}"
        ) from error
    except OSError as error:
        raise TestSetError(
            "ground-truth-unreadable", f"{path}: {reason_of(error)}"
        ) from error


def binary_kind(path: Path, content: bytes) -> str | None:
    """Return what a file without text is by its first bytes, and what to do; None for any other file."""
    if content.startswith(_ZIP):
        for name, said in _IN_ZIP.items():
            if name in content[:_START_OF_ZIP]:
                return said
    for first, said in _KINDS.items():
        if re.match(first, content):
            return said.replace('"FILE"', json.dumps(str(path)))
    zeros = content[:_START_OF_TEXT].count(b"\0")
    if zeros > 1 and not is_utf16(content):
        return "it is no text but a binary file, such as a model; give a file of text"
    return None


def no_such_file(path: Path) -> str:
    """Return what to say of a file that is not there: the file beside it that may be meant, if one is."""
    try:
        beside = [one.name for one in path.parent.iterdir()]
    except FileNotFoundError:
        return f"no such file; its folder {path.parent} is not there, either"
    except OSError:  # such as a folder that may not be listed
        beside = []
    meant = closest(path.name, beside)
    if meant is None:
        return "no such file; check the path"
    return f"no such file; did you mean {path.with_name(meant)}?"


def utf8_text(path: Path, content: bytes) -> str:
    """Return the content of the file `path` as text, without its byte order mark.

    Raises TestSetError `ground-truth-unreadable`.
    """
    try:
        if kind := binary_kind(path, content):
            raise TestSetError("ground-truth-unreadable", f"{path}: {kind}")
        if is_utf16(content):
            raise TestSetError("ground-truth-unreadable", f"{path}: {IS_UTF16}")
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        sentence = f"{path}: {_not_utf8(content, error.start)}; save it as UTF-8"
        raise TestSetError("ground-truth-unreadable", sentence) from error


def _not_utf8(content: bytes, at: int) -> str:
    """Return where content is not UTF-8, and the text around that place if Windows seems to have written it."""
    begin = content.rfind(b"\n", 0, at) + 1
    begin = max(begin, at - _SHOWN_BEFORE)
    end = content.find(b"\n", at)
    part = content[begin : end if end >= 0 else None][:_SHOWN].strip()
    seen = part.decode("cp1252", "replace")
    if not seen.isprintable() or "\ufffd" in seen or sum(map(str.isascii, seen)) < 2:
        return f"byte {at} is not UTF-8 text"
    line = content.count(b"\n", 0, at) + 1
    return f"line {line} is not UTF-8; as Windows-1252 it reads {shown(seen)}"


def is_utf16(content: bytes) -> bool:
    """Return True for text in UTF-16 that begins with ASCII: one character behind a byte order mark, or two."""
    start = content[:4]
    if start.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        start = start[2:] * 2
    return (
        re.fullmatch(rb"(?:[ -~\t\r\n]\0){2}|(?:\0[ -~\t\r\n]){2}", start) is not None
    )


def require_regular(path: Path) -> None:
    """Raise OSError for a pipe or a device: a file that is read more than once must have the same content each time."""
    if is_there(path) and not (is_file(path) or is_folder(path)):
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def _read(path: Path, most_bytes: int) -> bytes:
    descriptor = open_at_once(path)
    try:
        mode = os.fstat(descriptor).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISDIR(mode)):
            raise OSError(errno.EINVAL, "it is not a regular file")
        first = b""
        if stat.S_ISFIFO(mode):
            first = _first_byte(descriptor)
        wait_for_content(descriptor)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return first + file.read(most_bytes)
    finally:
        os.close(descriptor)


def _first_byte(pipe: int) -> bytes:
    try:
        first = os.read(pipe, 1)
    except BlockingIOError:  # a writer has not written yet
        return b""
    if not first:
        raise OSError(
            errno.EINVAL, "it is not a regular file but a pipe without a writer"
        )
    return first
