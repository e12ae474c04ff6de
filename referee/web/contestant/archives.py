"""A batch of images as one stored zip, laid out before a byte of it is read: its length is known, any part can be sent.

Sizes and checksums come first in each entry (no data descriptors), so that the simplest reader can take it as a
stream. Made by hand since `zipfile` can neither tell the length ahead nor begin in the middle. APPNOTE.TXT 6.3.
"""

from __future__ import annotations

import struct
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from referee.web.image_files import ImageFacts

LARGEST_ARCHIVE_BYTES = 2**31  # what the oldest readers can take, and no zip64

REMEMBERED_LAYOUTS = 4  # of a run; one of a thousand images takes half a megabyte
REMEMBERED_RUNS = 32

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


Part = tuple[bytes, int | None]
"""Some bytes of an archive, and the place of the file that they are of among its entries; None: of no file."""


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

    def parts(self, start: int, stop: int) -> Iterator[Part]:
        """Bytes [start, stop) of the archive in parts; a file is read only when a byte of it is wanted."""
        place = 0
        for number, (header, entry) in enumerate(zip(self._headers, self._entries, strict=True)):
            if place >= stop:
                return
            length = len(header) + entry.facts.size
            if place + length > start:
                for content in _cut(header, place, start, stop):
                    yield content, None
                if place + len(header) < stop:
                    for content in _cut(entry.read(), place + len(header), start, stop):
                        yield content, number
            place += length
        for content in _cut(self._directory, place, start, stop):
            yield content, None


def joined(parts: Iterator[Part], least_bytes: int) -> Iterator[tuple[bytes, list[tuple[int, int]]]]:
    """The same bytes in chunks of at least so many, but for the last; with each, (file, bytes of it) in it."""
    waiting: list[bytes] = []
    files: list[tuple[int, int]] = []
    size = 0
    for content, number in parts:
        waiting.append(content)
        size += len(content)
        if number is not None and content:
            files.append((number, len(content)))
        if size >= least_bytes:
            yield b"".join(waiting), files
            waiting, files, size = [], [], 0
    if waiting:
        yield b"".join(waiting), files


class Layouts:
    """The last few layouts of each run: a client that asks again, or for the rest, costs no new one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Several at once only take the interpreter from each other, and from others.
        self._laying_out = threading.Lock()
        self._runs: OrderedDict[int, OrderedDict[range, StoredZip]] = OrderedDict()

    def of(self, run: int, numbers: range, lay_out: Callable[[], StoredZip]) -> StoredZip:
        """The archive of a run's images `numbers`; laid out when it is not known."""
        with self._lock:
            known = self._runs.setdefault(run, OrderedDict())
            self._runs.move_to_end(run)
            if len(self._runs) > REMEMBERED_RUNS:
                self._runs.popitem(last=False)
            archive = known.get(numbers)
            if archive is not None:
                known.move_to_end(numbers)
                return archive
        with self._laying_out:
            archive = known.get(numbers)  # of one that asked for the same meanwhile
            if archive is None:
                archive = lay_out()
            with self._lock:
                known[numbers] = archive
                if len(known) > REMEMBERED_LAYOUTS:
                    known.popitem(last=False)
        return archive


def _cut(part: bytes, place: int, start: int, stop: int) -> Iterator[bytes]:
    """What of a part that lies at `place` is in [start, stop); nothing when nothing is."""
    if start <= place and place + len(part) <= stop:
        yield part
    elif place < stop and place + len(part) > start:
        yield part[max(start - place, 0) : stop - place]
