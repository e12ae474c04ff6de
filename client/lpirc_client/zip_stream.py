"""Reads a batch of images, a zip without compression, entry by entry while it arrives."""

from __future__ import annotations

import struct
from typing import Callable, Iterator

from lpirc_client.errors import ClientError, ConnectionLost

# signature, method, stored size, size, length of the name and of the extra field
HEADER = struct.Struct("<4s4xH8xIIHH")
ENTRY = b"PK\3\4"
DIRECTORY = (b"PK\1\2", b"PK\5\6")
STORED = 0

Read = Callable[[int], bytes]
"""Returns the next n bytes, fewer at the end."""


def entries(read: Read) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of each entry of an uncompressed zip with sizes in its headers, as the referee sends it.

    Raises ConnectionLost if it ends too early, ClientError `bad-batch` for another kind of zip.
    """
    while (start := read(4)) not in DIRECTORY:
        signature, method, stored, size, name_length, extra_length = HEADER.unpack(
            start + _exactly(read, HEADER.size - 4)
        )
        if signature != ENTRY or method != STORED or stored != size:
            what = "the batch is not a zip without compression; fetch images one by one with --fetch 1"
            raise ClientError("bad-batch", what)
        name = _exactly(read, name_length).decode("utf-8", "replace")
        _exactly(read, extra_length)
        yield name, _exactly(read, size)


def numbered(read: Read, first: int) -> Iterator[tuple[int, bytes]]:
    """Yield (number, JPEG) of a batch that starts with image `first`. Raises ClientError for any other entry."""
    for number, (name, jpeg) in enumerate(entries(read), start=first):
        if name != f"{number}.jpg":
            raise ClientError(
                "bad-batch", f"the batch has {name!r} where {number}.jpg was expected"
            )
        yield number, jpeg


def _exactly(read: Read, size: int) -> bytes:
    content = read(size) if size else b""
    if len(content) != size:
        raise ConnectionLost(
            "connection-lost", "the connection broke in the middle of a batch"
        )
    return content
