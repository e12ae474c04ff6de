"""A batch of images as a stored zip, laid out before any image is read, so that its length is known.

Sizes and checksums are in each entry's local header (no data descriptors), so the simplest reader can read it as a
stream. It is written by hand because `zipfile` cannot tell the length in advance. Source: APPNOTE.TXT 6.3.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from referee.web.image_files import ImageFacts

LARGEST_ARCHIVE_BYTES = 2**31  # the limit of the oldest readers, without zip64

_VERSION = 10
_NO_FLAGS = 0
_STORED = 0
# Midnight of 1 January 1980, the earliest time in a zip.
_TIME = 0
_DATE = (1 << 5) | 1
_MADE_ON_UNIX = 3 << 8
_MODE = 0o100644 << 16
_LOCAL = struct.pack("<4sHHHHH", b"PK\3\4", _VERSION, _NO_FLAGS, _STORED, _TIME, _DATE)
_CENTRAL = struct.pack(
    "<4sHHHHHH",
    b"PK\1\2",
    _MADE_ON_UNIX | _VERSION,
    _VERSION,
    _NO_FLAGS,
    _STORED,
    _TIME,
    _DATE,
)
_facts = struct.Struct("<III")  # CRC-32, stored size, size
_local_lengths = struct.Struct("<HH")  # of name, of extra field
_central_rest = struct.Struct(
    "<HHHHHII"
)  # lengths of name, extra, comment; disk; internal, external; offset
_end = struct.Struct("<4sHHHHIIH")


class Entry(NamedTuple):
    """A file in the archive: its name, its known facts, and the number by which `read` gets it."""

    name: str
    facts: ImageFacts
    number: int


class StoredZip:
    """The layout of an archive of `entries` in this order; `read` gives their bytes. `size` is in bytes."""

    def __init__(self, entries: Sequence[Entry], read: Callable[[int], bytes]) -> None:
        self._entries = entries
        self._read = read
        self._headers: list[bytes] = []
        central = []
        offset = 0
        for name, (size, crc32), _ in entries:
            facts = _facts.pack(crc32, size, size)
            ending = name.encode("ascii")
            header = _LOCAL + facts + _local_lengths.pack(len(ending), 0) + ending
            rest = _central_rest.pack(
                len(ending), 0, 0, 0, 0, _MODE, offset & 0xFFFFFFFF
            )
            central.append(_CENTRAL + facts + rest + ending)
            self._headers.append(header)
            offset += len(header) + size
        directory = b"".join(central)
        count = len(entries)
        end = _end.pack(
            b"PK\5\6", 0, 0, count, count, len(directory), offset & 0xFFFFFFFF, 0
        )
        self._directory = directory + end
        self.size = offset + len(self._directory)

    def chunks(self, least_bytes: int) -> Iterator[tuple[bytes, list[tuple[int, int]]]]:
        """Yield the archive in chunks of at least `least_bytes`, each with the files that end in it.

        The last chunk may be shorter. A file is given as (its index in the entries, its number of bytes), and it is
        read when its chunk is requested.
        """
        parts: list[bytes] = []
        ended: list[tuple[int, int]] = []
        size = 0
        for place, (header, entry) in enumerate(
            zip(self._headers, self._entries, strict=True)
        ):
            content = self._read(entry.number)
            parts += (header, content)
            ended.append((place, len(content)))
            size += len(header) + len(content)
            if size >= least_bytes:
                yield b"".join(parts), ended
                parts = []
                ended = []
                size = 0
        yield b"".join((*parts, self._directory)), ended
