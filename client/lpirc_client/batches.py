"""Reading a batch of images: a stored zip, entry by entry, while it arrives."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

from lpirc_client.errors import ClientError

_ENTRY, _DIRECTORY = b"PK\3\4", (b"PK\1\2", b"PK\5\6")
_header = struct.Struct(
    "<4s4xH8xIIHH"
)  # signature, method, stored size, size, length of name, of extra field
_STORED = 0


def entries(read: Callable[[int], bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield (name, content) of each entry of a stored zip whose sizes are in front, as the referee sends it.

    `read(n)` gives the next n bytes, fewer at the end. ClientError when it ends too soon, or is another kind of zip.
    """
    while True:
        start = read(4)
        if start in _DIRECTORY:
            return
        header = start + _exactly(read, _header.size - 4)
        signature, method, stored, size, name_length, extra_length = _header.unpack(header)
        if signature != _ENTRY or method != _STORED or stored != size:
            raise ClientError(
                "bad-batch", "the batch is no stored zip; fetch images one by one with --fetch 1"
            )
        name = _exactly(read, name_length).decode("utf-8", "replace")
        _exactly(read, extra_length)
        yield name, _exactly(read, size)


def numbered(read: Callable[[int], bytes], first: int) -> Iterator[tuple[int, bytes]]:
    """Yield (number, JPEG) of a batch that starts with image `first`; ClientError when an entry is another one."""
    for number, (name, jpeg) in enumerate(entries(read), start=first):
        if name != f"{number}.jpg":
            raise ClientError("bad-batch", f"the batch has {name!r} where {number}.jpg was expected")
        yield number, jpeg


def _exactly(read: Callable[[int], bytes], size: int) -> bytes:
    content = read(size) if size else b""
    if len(content) != size:
        raise ClientError("connection-lost", "the connection broke in the middle of a batch")
    return content
