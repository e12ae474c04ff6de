"""Responses that everyone polls, kept in memory: each is rendered and compressed once for all clients.

Shared caches may keep one for a second (RFC 9111) and serve it for another second while they revalidate it (RFC 5861).
Responses that depend on the client must not be kept here.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from referee.web.html_pages import PAGE_VERSION, SECURITY_HEADERS, page_version
from referee.web.http_answers import Answer, Environ
from referee.web.packing import compress, takes_gzip

PUBLIC = "public, max-age=0, s-maxage=1, stale-while-revalidate=1"
OF_CALLER = "no-cache"
_ETAG_LENGTH = 32


@dataclass(frozen=True)
class Kept:
    """A document ready to send: plain, gzip-compressed, and the entity tag of each form."""

    media_type: str
    plain: bytes
    packed: bytes
    etag: str


def keep(text: str, media_type: str) -> Kept:
    """Encode and compress a document for `answer_of`."""
    plain = text.encode()
    digest = hashlib.sha256(plain).hexdigest()[:_ETAG_LENGTH]
    # A weak tag, because it is the same for both encodings.
    return Kept(media_type, plain, compress(plain), f'W/"{digest}"')


def answer_of(kept: Kept, environ: Environ) -> Answer:
    """Answer a GET or HEAD: 304 if the client has this version, compressed if it accepts gzip."""
    # With a token the answer also states the time left of its run.
    caching = OF_CALLER if "HTTP_AUTHORIZATION" in environ else PUBLIC
    headers = [
        *SECURITY_HEADERS.items(),
        ("Cache-Control", caching),
        ("ETag", kept.etag),
        ("Vary", "Accept-Encoding"),
        (PAGE_VERSION, page_version()),
    ]
    if _is_known(kept.etag, environ.get("HTTP_IF_NONE_MATCH", "")):
        return Answer(304, headers)
    body = kept.plain
    if takes_gzip(environ.get("HTTP_ACCEPT_ENCODING", "")):
        body = kept.packed
        headers.append(("Content-Encoding", "gzip"))
    headers += [("Content-Type", kept.media_type), ("Content-Length", str(len(body)))]
    return Answer(200, headers, body)


def _is_known(etag: str, stated: str) -> bool:
    opaque = etag.removeprefix("W/")
    return any(
        one.strip().removeprefix("W/") in (opaque, "*")
        for one in stated.split(",")
        if stated
    )
