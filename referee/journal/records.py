"""Format of a journal's files: a sequence of records, each linked to the record before it by a hash.

A record is one transaction. Its frame has the magic bytes, the lengths of its head and its blobs, and its link: the
SHA-256 of the former link, the head and the blobs. The length of the whole record follows the blobs, so a file can be
read from its end.

The head is JSON: `seq` counts 1, 2, ... over all files of a journal; `changes` are [table, action, values]. For the
action "put" the values are the row's number or null, then the columns in the order of `Header.tables`; for "delete"
they are the row's key. A bytes value is written as {"blob": length}; the bytes of all blobs follow the head in the same
order.

The first record of a file is its `Header`. Zeros may follow the last record: free room for later ones.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import inf
from pathlib import Path
from typing import Any

import orjson

from referee.errors import JournalDamaged

FORM = 1
START = bytes(32)
"""The link before the first record of a journal."""
Change = tuple[str, str, Sequence[Any]]
"""One changed row: its table, PUT or DELETE, and the values."""
PUT = "put"
DELETE = "delete"

_MAGIC = b"LPJ1"
_FRAME = struct.Struct("<4sIQ32s")
_LENGTH = struct.Struct("<Q")
_LARGEST_HEAD = 2**28


@dataclass(frozen=True)
class Position:
    """The end of a record: the record's number and chained digest, the epoch of its file, and the byte offset in it."""

    seq: int = 0
    link: bytes = START
    epoch: int = 1
    size: int = 0


@dataclass(frozen=True)
class Header:
    """The header of a file.

    With `is_base`, its records build a database from nothing; otherwise they continue from `after`.

    `after` is the last valid position of the former file; records behind it were never acknowledged. In a base file,
    `base_records` is the number of records of the copy, and `after` is the position of the database that was copied.
    """

    contest: str
    form: int  # of the database
    epoch: int
    is_base: bool
    tables: Mapping[str, Sequence[str]]
    after: Position = Position()
    base_records: int = 0


@dataclass(frozen=True)
class Record:
    """One transaction, and the position at its end."""

    changes: Sequence[Change]
    end: Position


def encode_header(header: Header) -> tuple[bytes, bytes]:
    """Return the bytes of a file's first record, and the link of that record."""
    values = asdict(header) | {"journal": FORM}
    values["after"]["link"] = header.after.link.hex()
    return _encode(header.after.link, json.dumps(values).encode(), b"")


def encode(former: Position, changes: Sequence[Change]) -> tuple[bytes, bytes]:
    """Return the bytes of the record that follows `former`, and the link of that record."""
    blobs = [
        value
        for _, _, values in changes
        for value in values
        if isinstance(value, bytes)
    ]
    head = _head(former.seq + 1, changes)
    return _encode(former.link, head, b"".join(blobs))


def _head(seq: int, changes: Sequence[Change]) -> bytes:
    head = {"seq": seq, "changes": changes}
    has_infinity = any(inf in values or -inf in values for _, _, values in changes)
    if has_infinity:  # orjson would write null for this value
        text = json.dumps(head, default=_stands_for)
        return text.encode()
    return orjson.dumps(head, default=_stands_for)


def _stands_for(blob: bytes) -> dict[str, int]:
    """Return the JSON object that replaces a blob in the head."""
    return {"blob": len(blob)}


def _encode(former: bytes, head: bytes, blobs: bytes) -> tuple[bytes, bytes]:
    link = _link(former, head, blobs)
    length = _FRAME.size + len(head) + len(blobs) + _LENGTH.size
    frame = _FRAME.pack(_MAGIC, len(head), len(blobs), link)
    return b"".join([frame, head, blobs, _LENGTH.pack(length)]), link


def read_header(path: Path) -> tuple[Header, Position]:
    """Return the header of a file, and the position at the header's end. Raises JournalDamaged, FileNotFoundError."""
    with path.open("rb") as file:
        found = _read(file.fileno(), 0)
        if found is None:
            raise JournalDamaged(f"{path} does not begin with the header of a journal.")
        link, head, _, end = found
    try:
        values = json.loads(head)
        if values.pop("journal") > FORM:
            raise JournalDamaged(
                f"{path} was written by a newer version of this program."
            )
        after = values.pop("after")
        after["link"] = bytes.fromhex(after["link"])
        before = Position(**after)
        header = Header(**values, after=before)
    except (ValueError, TypeError, KeyError) as error:
        raise JournalDamaged(
            f"{path} does not begin with the header of a journal."
        ) from error
    if link != _link(before.link, head, b""):
        raise JournalDamaged(f"The beginning of {path} was changed.")
    return header, Position(before.seq, link, header.epoch, end)


def read_records(
    path: Path, start: Position, end: int | None = None
) -> Iterator[Record]:
    """Yield the records of a file from `start` on, up to `end` bytes or to the last whole record.

    A cut last record was never acknowledged and is left out. Raises JournalDamaged for an altered record,
    FileNotFoundError.
    """
    with path.open("rb") as file:
        descriptor = file.fileno()
        former = start
        while end is None or former.size < end:
            found = _read(descriptor, former.size)
            if found is None:
                if end is not None or _has_record_behind(descriptor, former.size):
                    raise _damaged(path, former)
                return
            link, head, blobs, size = found
            if link != _link(former.link, head, blobs):
                if end is None and not _has_record_behind(descriptor, former.size):
                    return  # a power failure may leave the end of a record on disk without its middle
                raise _damaged(path, former)
            values = json.loads(head)
            if values["seq"] != former.seq + 1:
                raise _damaged(path, former)
            former = Position(values["seq"], link, start.epoch, size)
            placed = _with_offsets(values["changes"])
            changes = [_filled(change, blobs) for change in placed]
            yield Record(changes, former)


def last_link(path: Path, size: int) -> bytes | None:
    """Return the link of the record that ends at `size`, or None if no record ends there."""
    with path.open("rb") as file:
        descriptor = file.fileno()
        if size < _FRAME.size + _LENGTH.size:
            return None
        at_end = _exactly(descriptor, size - _LENGTH.size, _LENGTH.size)
        if at_end is None:
            return None
        (length,) = _LENGTH.unpack(at_end)
        if not 0 < length <= size:
            return None
        frame = _exactly(descriptor, size - length, _FRAME.size)
    if frame is None:
        return None
    magic, _, _, link = _FRAME.unpack(frame)
    return bytes(link) if magic == _MAGIC else None


def _read(descriptor: int, at: int) -> tuple[bytes, bytes, bytes, int] | None:
    """Return link, head, blobs and end of the record at byte `at`, or None if no whole record begins there."""
    frame = _exactly(descriptor, at, _FRAME.size)
    if frame is None:
        return None
    magic, head_bytes, blob_bytes, link = _FRAME.unpack(frame)
    if magic != _MAGIC or head_bytes > _LARGEST_HEAD:
        return None
    length = _FRAME.size + head_bytes + blob_bytes + _LENGTH.size
    end = at + length
    if os.fstat(descriptor).st_size < end:
        return None

    rest = _exactly(descriptor, at + _FRAME.size, length - _FRAME.size)
    if rest is None:
        return None
    content = rest[: -_LENGTH.size]
    at_end = rest[-_LENGTH.size :]
    if at_end != _LENGTH.pack(length):
        return None
    head = content[:head_bytes]
    blobs = content[head_bytes:]
    return link, head, blobs, end


def _exactly(descriptor: int, at: int, size: int) -> bytes | None:
    found = os.pread(descriptor, size, at)
    return found if len(found) == size else None


def _has_record_behind(descriptor: int, at: int) -> bool:
    """Return True if a whole record follows somewhere behind the broken one at byte `at`: the file is damaged, not cut.

    A team chooses the bytes of its bodies, and may put something like a record into one. So if the broken record at
    `at` still states its length and link, a later record is accepted only if it begins behind the stated end, or its
    link continues the stated link.
    """
    size = os.fstat(descriptor).st_size
    rest = os.pread(descriptor, size - at, at)
    stated_end, link = _stated(rest)
    place = rest.find(_MAGIC, 1)
    while place > 0:
        found = _read(descriptor, at + place)
        if found is not None:
            own_link, head, blobs, _ = found
            if link is None or stated_end <= place:
                return True
            if own_link == _link(link, head, blobs):
                return True
        place = rest.find(_MAGIC, place + 1)
    return False


def _stated(record: bytes) -> tuple[int, bytes | None]:
    """Return the length and link that the beginning of a record states, or (0, None) if no record begins there."""
    if len(record) < _FRAME.size:
        return 0, None
    magic, head_bytes, blob_bytes, link = _FRAME.unpack_from(record)
    if magic != _MAGIC:
        return 0, None
    length = _FRAME.size + head_bytes + blob_bytes + _LENGTH.size
    return length, link


def _damaged(path: Path, former: Position) -> JournalDamaged:
    return JournalDamaged(
        f"{path} is damaged after record {former.seq}, at byte {former.size}: the file was changed, or its disk is "
        "failing. Nothing after this byte can be trusted."
    )


def _link(former: bytes, head: bytes, blobs: bytes) -> bytes:
    digest = hashlib.sha256(former)
    digest.update(head)
    digest.update(blobs)
    return digest.digest()


def _with_offsets(changes: list[Any]) -> Iterator[tuple[str, str, list[Any], int]]:
    """Yield each change with the index of its first blob in the record's list of blobs."""
    at = 0
    for table, what, values in changes:
        yield table, what, values, at
        at += sum(value["blob"] for value in values if isinstance(value, dict))


def _filled(change: tuple[str, str, list[Any], int], blobs: bytes) -> Change:
    table, what, values, at = change
    filled = []
    for value in values:
        if isinstance(value, dict):
            filled.append(blobs[at : at + value["blob"]])
            at += value["blob"]
        else:
            filled.append(value)
    return table, what, filled
