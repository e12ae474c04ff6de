"""The interface of version 1 as an OpenAPI 3.1 document, in a file beside this module; tests hold the server to it."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

from referee.web.answers import Answer, Environ
from referee.web.conditions import select

FILE = "openapi.json"


def openapi_document(environ: Environ) -> Answer:
    """GET or HEAD of the document."""
    body, tag = _file()
    selection = select(environ, tag, len(body))
    headers = [("ETag", tag), ("Cache-Control", "no-cache")]
    if selection.status == 304:
        return Answer(304, headers)
    part = body[selection.start : selection.stop]
    headers += [
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(part))),
        ("Accept-Ranges", "bytes"),
    ]
    if selection.status == 206:
        headers.append(("Content-Range", f"bytes {selection.start}-{selection.stop - 1}/{len(body)}"))
    return Answer(selection.status, headers, part)


@cache
def _file() -> tuple[bytes, str]:
    body = files(__package__).joinpath(FILE).read_bytes()
    return body, f'"{hashlib.sha256(body).hexdigest()[:24]}"'
