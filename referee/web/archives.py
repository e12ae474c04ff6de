"""A batch of images as one stored zip, laid out before a byte of it is read: its length is known, any part can be sent.

Sizes and checksums come first in each entry (no data descriptors), so that the simplest reader can take it as a
stream. Made by hand since `zipfile` can neither tell the length ahead nor begin in the middle. APPNOTE.TXT 6.3.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from referee.web.images import ImageFacts

LARGEST_ENTRIES = 2**16 - 2
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
    """The layout of an archive of `entries`, in that order."""

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

    def parts(self, start: int, stop: int) -> Iterator[bytes]:
        """Bytes [start, stop) of the archive in parts; a file is read only when a byte of it is wanted."""
        place = 0
        for header, entry in zip(self._headers, self._entries, strict=True):
            if place >= stop:
                return
            length = len(header) + entry.facts.size
            if place + length > start:
                yield from _cut(header, place, start, stop)
                if place + length > start and place + len(header) < stop:
                    yield from _cut(entry.read(), place + len(header), start, stop)
            place += length
        yield from _cut(self._directory, place, start, stop)

    def shares(self, start: int, stop: int) -> list[int]:
        """How many bytes of each entry's file lie in [start, stop)."""
        found, place = [], 0
        for header, entry in zip(self._headers, self._entries, strict=True):
            first, size = place + len(header), entry.facts.size
            found.append(max(min(first + size, stop) - max(first, start), 0))
            place = first + size
        return found


def joined(parts: Iterator[bytes], least_bytes: int) -> Iterator[bytes]:
    """The same bytes in chunks of at least so many, but for the last."""
    waiting: list[bytes] = []
    size = 0
    for part in parts:
        waiting.append(part)
        size += len(part)
        if size >= least_bytes:
            yield b"".join(waiting)
            waiting.clear()
            size = 0
    if waiting:
        yield b"".join(waiting)


def _cut(part: bytes, place: int, start: int, stop: int) -> Iterator[bytes]:
    """What of a part that lies at `place` is in [start, stop); nothing when nothing is."""
    if start <= place and place + len(part) <= stop:
        yield part
    elif place < stop and place + len(part) > start:
        yield part[max(start - place, 0) : stop - place]
