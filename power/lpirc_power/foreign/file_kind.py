"""What a file is by its first bytes, and its text. Pure."""

from __future__ import annotations

import codecs
import json
from typing import Final

NO_TEXT: Final = (
    "it is not text in UTF-8, UTF-16 with a byte order mark, or Windows-1252"
)
_AS_CSV: Final = "save its table as CSV in UTF-8, and give that file"
_BY_PANDAS: Final = (
    'in Python, pandas.{reader}("FILE").to_csv("new.csv", index=False) writes it as CSV'
)
_WORKBOOKS: Final = {
    b"PK\x03\x04": f"it is an Excel or OpenDocument workbook (or another ZIP archive); {_AS_CSV}",
    b"\xd0\xcf\x11\xe0": f"it is an Excel workbook of before 2007; {_AS_CSV}",
}
_KINDS: Final = {
    **_WORKBOOKS,
    b"PAR1": f"it is Parquet; {_BY_PANDAS.format(reader='read_parquet')}",
    b"ARROW1": f"it is Feather; {_BY_PANDAS.format(reader='read_feather')}",
    b"\x89HDF": f"it is HDF5; {_BY_PANDAS.format(reader='read_hdf')}",
    b"\x93NUMPY": 'it is a NumPy array; in Python, numpy.savetxt("new.csv", numpy.load("FILE"), delimiter=",") '
    "writes it as CSV",
    b"\x1f\x8b": "it is compressed by gzip; unpack it with gunzip, and give the file in it",
    b"SQLite format 3": f"it is a SQLite database; {_AS_CSV}",
    b"%PDF": f"it is a PDF document; {_AS_CSV}",
}
"""First bytes of files that are no text, and the way out."""
_MARKS: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def kind_of(raw: bytes, name: str = "FILE") -> str | None:
    """Return what a file without text is, with the way out; None if its first bytes are of no such kind."""
    for first, said in _KINDS.items():
        if raw.startswith(first):
            return said.replace('"FILE"', json.dumps(name))
    return None


def decoded(raw: bytes) -> tuple[str, tuple[str, ...]]:
    """Return the text, and a sentence if it is taken for Windows-1252. Raises UnicodeError for what is no text."""
    if raw.startswith(_MARKS):
        return raw.decode("utf-16"), ()
    if b"\0" in raw:
        raise UnicodeError(NO_TEXT)
    try:
        return raw.decode("utf-8-sig"), ()
    except UnicodeDecodeError:
        text = raw.decode("cp1252")
        return text, ("The text is not UTF-8; it is read as Windows-1252.",)
