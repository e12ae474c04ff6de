"""The way in for contestants' systems at `/client`: how to begin, and the client's files to download."""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import Blueprint, Response, abort, redirect, request
from werkzeug.wrappers import Response as AnyResponse

from referee.handouts.client_files import SUMS, TEXT, client_files, sums
from referee.web.html_pages import page, revalidated

PATH = "/client/"
SCHEMES = ("http", "https")

blueprint = Blueprint("client", __name__)


@blueprint.get("/client")
def to_page() -> AnyResponse:
    """Redirect to the page."""
    return redirect(PATH, 301)


@blueprint.get(PATH)
def how_to_begin() -> Response:
    """Answer with how to begin, and the files with their SHA-256."""
    url = _own_url()
    host = urlsplit(url).netloc
    files = [*client_files().values()]
    return page("public/client.html", url=url, host=host, files=files)


@blueprint.get(PATH + SUMS)
def list_of_sums() -> Response:
    """Answer with the SHA-256 of each file, for `sha256sum -c`."""
    return revalidated(Response(sums(), content_type=TEXT))


@blueprint.get(PATH + "<path:name>")
def one_file(name: str) -> Response:
    """Answer with one of the files."""
    file = client_files().get(name)
    if file is None:
        abort(404)
    return revalidated(Response(file.content, content_type=file.media_type))


def _own_url() -> str:
    """Return where the reader has reached this server, for the commands that the page shows."""
    # A proxy that holds the certificate says how it was asked; who claims it alone reads it alone.
    scheme = request.headers.get("X-Forwarded-Proto", request.scheme)
    if scheme not in SCHEMES:
        scheme = request.scheme
    return f"{scheme}://{request.host}"
