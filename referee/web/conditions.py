"""What a request's conditions select of a representation: RFC 9110, sections 13 and 14.

Tags are strong ones of our own making. Dates are not compared: nothing served has one. Of ranges a single one of bytes
is served; several in one request are answered by the whole, as a server may.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from referee.errors import RefereeError

_TAG = re.compile(r'(W/)?("[^"]*")')
_RANGE = re.compile(r"[ \t]*(\d*)[ \t]*-[ \t]*(\d*)[ \t]*\Z", re.ASCII)
LONGEST_RANGE = 50


class Selection(NamedTuple):
    """What to send: bytes [start, stop) with status 200 or 206; with status 304 none."""

    status: int
    start: int
    stop: int


def select(environ: Mapping[str, str], tag: str, size: int) -> Selection:
    """What a GET or HEAD selects of `size` bytes that bear the entity tag `tag`, quotes included; a POST gets all.

    Raises RefereeError `precondition-failed`, `range-not-satisfiable`.
    """
    if environ.get("REQUEST_METHOD") not in ("GET", "HEAD"):
        return Selection(200, 0, size)
    wanted = environ.get("HTTP_IF_MATCH")
    if wanted is not None and not _names(wanted, tag, weakly=False):
        raise RefereeError(
            "precondition-failed", "This is not what If-Match names; ask again without it.", etag=tag
        )
    known = environ.get("HTTP_IF_NONE_MATCH")
    if known is not None and _names(known, tag, weakly=True):
        return Selection(304, 0, 0)
    asked = environ.get("HTTP_RANGE")
    if asked is None or environ.get("REQUEST_METHOD") != "GET":
        return Selection(200, 0, size)
    condition = environ.get("HTTP_IF_RANGE")
    if condition is not None and condition.strip() != tag:
        return Selection(200, 0, size)
    return _range(asked, size)


def _names(field: str, tag: str, *, weakly: bool) -> bool:
    if field.strip() == "*":
        return True
    return any(quoted == tag and (weakly or not weak) for weak, quoted in _TAG.findall(field))


def _range(field: str, size: int) -> Selection:
    unit, _, places = field.partition("=")
    found = _RANGE.match(places) if len(places) <= LONGEST_RANGE else None
    if unit.strip().lower() != "bytes" or found is None or found.groups() == ("", ""):
        return Selection(200, 0, size)
    first, last = found.groups()
    if first and last and int(last) < int(first):
        return Selection(200, 0, size)  # no range at all, by the grammar
    start = int(first) if first else max(size - int(last), 0)
    stop = min(int(last) + 1, size) if first and last else size
    if start >= size:
        raise RefereeError(
            "range-not-satisfiable",
            f"The range {places.strip()} lies beyond the {size} bytes that there are.",
            size=size,
        )
    return Selection(206, start, stop)
