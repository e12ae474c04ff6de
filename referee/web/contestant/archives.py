"""A batch of images as one stored zip, laid out before a byte of it is read: its length is known.

Sizes and checksums come first in each entry (no data descriptors): the simplest reader can take it as a stream. Made
by hand since `zipfile` cannot tell the length ahead. APPNOTE.TXT 6.3.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from referee.web.image_files import ImageFacts

LARGEST_ARCHIVE_BYTES = 2**31  # what the oldest readers can take, and no zip64

_VERSION, _NO_FLAGS, _STORED = 10, 0, 0
_TIME, _DATE = 0, (1 << 5) | 1  # midnight of 1 January 1980, the first day there is
_MADE_ON_UNIX, _MODE = 3 << 8, 0o100644 << 16
_LOCAL = struct.pack("<4sHHHHH", b"PK\3\4", _VERSION, _NO_FLAGS, _STORED, _TIME, _DATE)
_CENTRAL = struct.pack(
    "<4sHHHHHH", b"PK\1\2", _MADE_ON_UNIX | _VERSION, _VERSION, _NO_FLAGS, _STORED, _TIME, _DATE
)
_facts = struct.Struct("<III")  # CRC-32, stored size, size
_local_lengths = struct.Struct("<HH")  # of name, of extra field
_central_rest = struct.Struct("<HHHHHII")  # lengths of name, extra, comment; disk; internal, external; offset
_end = struct.Struct("<4sHHHHIIH")


@dataclass(frozen=True)
class Entry:
    """A file in the archive: its name, what is known of it, and how to get its bytes."""

    name: str
    facts: ImageFacts
    read: Callable[[], bytes]


class StoredZip:
    """The layout of an archive of `entries`, in that order. `size` is in bytes."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        self._headers: list[bytes] = []
        central, offset = [], 0
        for entry in entries:
            name, size = entry.name.encode("ascii"), entry.facts.size
            facts = _facts.pack(entry.facts.crc32, size, size)
            self._headers.append(_LOCAL + facts + _local_lengths.pack(len(name), 0) + name)
            rest = _central_rest.pack(len(name), 0, 0, 0, 0, _MODE, offset & 0xFFFFFFFF)
            central.append(_CENTRAL + facts + rest + name)
            offset += len(self._headers[-1]) + size
        directory = b"".join(central)
        count = len(entries)
        end = _end.pack(b"PK\5\6", 0, 0, count, count, len(directory), offset & 0xFFFFFFFF, 0)
        self._directory = directory + end
        self.size = offset + len(self._directory)

    def entry_bytes(self, number: int) -> int:
        """The size of a file in the archive."""
        return self._entries[number].facts.size

    def chunks(self, least_bytes: int) -> Iterator[tuple[bytes, list[int]]]:
        """The archive in chunks of at least so many bytes but for the last, each with the entries that end in it.

        A file is read when its chunk is wanted.
        """
        parts: list[bytes] = []
        ended: list[int] = []
        size = 0
        for number, (header, entry) in enumerate(zip(self._headers, self._entries, strict=True)):
            content = entry.read()
            parts += (header, content)
            ended.append(number)
            size += len(header) + len(content)
            if size >= least_bytes:
                yield b"".join(parts), ended
                parts, ended, size = [], [], 0
        yield b"".join((*parts, self._directory)), ended
