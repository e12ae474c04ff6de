"""The documents at `/docs`, for a hall without internet."""

from __future__ import annotations

from flask import Blueprint, Response, abort, redirect
from markupsafe import Markup
from werkzeug.wrappers import Response as AnyResponse

from referee.handouts.documents import document, listed, other_file
from referee.web.html_pages import page, revalidated

PATH = "/docs/"

blueprint = Blueprint("documents", __name__)


@blueprint.get("/docs")
def to_list() -> AnyResponse:
    """Redirect to the list."""
    return redirect(PATH, 301)


@blueprint.get(PATH)
def list_of_documents() -> Response:
    """Answer with the list of all documents, by reader."""
    return page("public/documents.html", groups=listed())


@blueprint.get("/docs/<path:name>")
def one_document(name: str) -> AnyResponse:
    """Answer with a document as a page, or with a picture or a file that one shows."""
    shown = document(name)
    if shown is not None:
        html = Markup(shown.html)  # noqa: S704 - rendered without markup of its own
        return page(
            "public/document.html",
            title=shown.title,
            contents=shown.contents,
            text=html,
        )
    file = other_file(name)
    if file is not None:
        content, media_type = file
        return revalidated(Response(content, content_type=media_type))
    if name.endswith(".md") and document(name.removesuffix(".md")) is not None:
        return redirect(PATH + name.removesuffix(".md"), 301)
    return abort(404)
