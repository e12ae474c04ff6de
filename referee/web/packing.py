"""Compresses what is sent to browsers: each content once, however many clients ask for it."""

from __future__ import annotations

import gzip
from functools import lru_cache

from werkzeug.http import parse_accept_header

from referee.web.made_once import made_once

MOST_PACKED = 2**18
"""Bytes; a longer document, such as a report with its pictures, is sent as it is."""
PACKED_KINDS = frozenset(
    {
        "text/html",
        "text/css",
        "text/javascript",
        "application/javascript",
        "application/json",
        "image/svg+xml",
    }
)
_LEVEL = 6  # gzip's own default: 9 takes three times as long for 1 % less


@made_once(64)
def packed(content: bytes) -> bytes:
    """Return the content compressed by gzip; the newest 64 are kept."""
    return compress(content)


def compress(content: bytes) -> bytes:
    """Return the content compressed by gzip."""
    return gzip.compress(content, _LEVEL, mtime=0)


def is_packable(content: bytes, media_type: str) -> bool:
    """Return True if compressing the content pays."""
    kind = media_type.partition(";")[0].strip()
    return kind in PACKED_KINDS and len(content) <= MOST_PACKED


@lru_cache(64)  # browsers send few different values
def takes_gzip(accepted: str) -> bool:
    """Return True if a client with this header Accept-Encoding reads gzip."""
    return bool(accepted) and parse_accept_header(accepted).quality("gzip") > 0
