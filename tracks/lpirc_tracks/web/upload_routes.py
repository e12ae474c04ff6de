"""Routes for uploads that can be resumed, by the protocol tus 1.0.0: core, creation, expiration and termination.

The last byte makes an entry, as `POST /v1/entries` does.
"""

from __future__ import annotations

import re
from base64 import b64decode
from email.utils import format_datetime

from flask import Blueprint, Response, request, url_for

from lpirc_tracks.submissions.kept_models import LARGEST_MODEL_BYTES
from lpirc_tracks.submissions.resumable import Resumable, Stated
from lpirc_tracks.web.background import background
from lpirc_tracks.web.entry_routes import (
    most_bytes,
    offer_of,
    team_of_request,
    upload_slot,
)
from referee.errors import RefereeError
from referee.web.app_parts import part
from referee.web.callers import Callers
from referee.web.request_bodies import parts_of_body, stated_length
from referee.web.web_request import present_request

VERSION = "1.0.0"
MEDIA_TYPE = "application/offset+octet-stream"
_DIGEST = re.compile("[0-9a-f]{64}")

blueprint = Blueprint("uploads", __name__, url_prefix="/v1/uploads")


@blueprint.after_request
def _say_version(response: Response) -> Response:
    response.headers["Tus-Resumable"] = VERSION
    return response


@blueprint.route("", methods=["OPTIONS"])
def about() -> Response:
    """Answer OPTIONS with the supported parts of the protocol."""
    headers = {"Tus-Version": VERSION, "Tus-Max-Size": str(LARGEST_MODEL_BYTES)}
    headers["Tus-Extension"] = "creation,expiration,termination"
    return Response(status=204, headers=headers)


@blueprint.post("")
def create() -> Response:
    """Create an upload."""
    team = team_of_request()
    stated = _stated(team)
    _require_version()
    replaces = None if stated.replaces is None else str(stated.replaces)
    offer = offer_of(team, stated.track, stated.file, replaces)
    if stated.size > (most := most_bytes(offer.config)):
        raise RefereeError(
            "too-large",
            f"The file has {stated.size} bytes; at most {most} are accepted.",
        )
    part(Callers).contest.store.posts.require_room(stated.size)
    made = background().resumable.create(stated)
    location = url_for("uploads.offset", number=made.number)
    return Response(status=201, headers=_headers(made) | {"Location": location})


@blueprint.route("/<number>", methods=["HEAD"])
def offset(number: str) -> Response:
    """Answer with the number of bytes received of an upload."""
    found = background().resumable.find(number, team_of_request())
    size = {"Upload-Length": str(found.stated.size), "Cache-Control": "no-store"}
    return Response(status=200, headers=_headers(found) | size)


@blueprint.patch("/<number>")
def add(number: str) -> Response:
    """Accept the next bytes; the last byte makes the entry that `Content-Location` names."""
    state = part(Callers)
    team = team_of_request()
    found = background().resumable.find(number, team)
    _require_version()
    if request.mimetype != MEDIA_TYPE:
        raise RefereeError("unsupported-media-type", f"Send the bytes as {MEDIA_TYPE}.")
    at = _whole("Upload-Offset")
    left = max(found.stated.size - at, 0)
    length = stated_length(request.environ, left, f": {left} are left of the file")
    replaces = None if found.stated.replaces is None else str(found.stated.replaces)
    offer_of(team, found.stated.track, found.stated.file, replaces)
    state.contest.store.posts.require_room(length)
    with upload_slot(team):
        made = background().resumable.add(
            found, at, parts_of_body(present_request(), length)
        )
    if made is None:
        return Response(status=204, headers=_headers(found))
    background().checks.ask()
    headers = {"Upload-Offset": str(found.stated.size)}
    return Response(
        status=204, headers=headers | {"Content-Location": f"/v1/entries/{made.id}"}
    )


@blueprint.delete("/<number>")
def remove(number: str) -> Response:
    """Delete an upload."""
    found = background().resumable.find(number, team_of_request())
    _require_version()
    background().resumable.remove(found)
    return Response(status=204)


def _headers(one: Resumable) -> dict[str, str]:
    expires = format_datetime(one.expires, usegmt=True)
    return {"Upload-Offset": str(one.offset), "Upload-Expires": expires}


def _require_version() -> None:
    """Raise RefereeError `bad-request` unless the client speaks this version."""
    if (given := request.headers.get("Tus-Resumable")) != VERSION:
        raise RefereeError(
            "tus-version",
            f"Tus-Resumable is {given!r:.20}; this server speaks {VERSION}.",
        )


def _stated(team: str) -> Stated:
    """Return what the client states about the file. Raises RefereeError `bad-request`."""
    given = dict(_pairs(request.headers.get("Upload-Metadata", "")))
    missing = [name for name in ("track", "name", "sha256") if not given.get(name)]
    if missing:
        raise RefereeError(
            "bad-request",
            f"Upload-Metadata needs {', '.join(missing)}, each in base64.",
        )
    if not _DIGEST.fullmatch(given["sha256"]):
        raise RefereeError(
            "bad-request",
            "sha256 in Upload-Metadata must be 64 hexadecimal digits in lower case.",
        )
    size = _whole("Upload-Length")
    if size == 0:
        raise RefereeError("bad-request", "Upload-Length is 0: the file is empty.")
    replaces = given.get("replaces")
    if replaces is not None and not (
        replaces.isascii() and replaces.isdigit() and len(replaces) <= 12
    ):
        raise RefereeError(
            "not-replaceable", f"replaces={replaces:.20} is not the number of an entry."
        )
    number = None if replaces is None else int(replaces)
    return Stated(team, given["track"], given["name"], size, given["sha256"], number)


def _pairs(header: str) -> list[tuple[str, str]]:
    """Return the keys and values of Upload-Metadata. Raises RefereeError `bad-request`."""
    pairs = []
    for item in header.split(","):
        key, _, value = item.strip().partition(" ")
        try:
            pairs.append((key, b64decode(value, validate=True).decode()))
        except ValueError:
            raise RefereeError(
                "bad-request", f"Upload-Metadata: the value of {key:.40} is not base64."
            ) from None
    return pairs


def _whole(header: str) -> int:
    given = request.headers.get(header, "")
    if not (given.isascii() and given.isdigit() and len(given) <= 15):
        raise RefereeError(
            "bad-request",
            f"{header} must be a whole number of bytes, not {given!r:.20}.",
        )
    return int(given)
