"""Pages over HTTP: rendered templates, the static files, and the headers that keep foreign content out."""

from __future__ import annotations

import hashlib
import mimetypes
from functools import cache
from http import HTTPStatus
from typing import Any

from flask import Blueprint, Response, abort, request

from referee.auth.operator_names import doer
from referee.pages import STATIC, template_environment

SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; form-action 'self'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}

THEMES = ("light", "dark")

blueprint = Blueprint("pages", __name__)


@cache
def _environment() -> Any:
    environment = template_environment("referee.web")
    environment.globals |= {"static": static_url, "doer": doer}
    return environment


def rendered(template: str, **values: object) -> str:
    """A template as text."""
    text: str = _environment().get_template(template).render(**values)
    return text


def page(template: str, status: int = 200, **values: object) -> Response:
    """A rendered page. A browser that has it already gets 304."""
    chosen = request.cookies.get(
        "theme"
    )  # by the button of live.js; without it the reader's system decides
    values = {"theme": chosen if chosen in THEMES else None} | values
    return html(rendered(template, **values), status)


def html(text: str, status: int = 200) -> Response:
    """A page or a part of one."""
    return revalidated(Response(text, status, content_type="text/html; charset=utf-8"))


def revalidated(response: Response) -> Response:
    """The response with an ETag of its content: the browser asks each time, and an unchanged one costs 304."""
    response.headers |= SECURITY_HEADERS
    response.headers["Cache-Control"] = "no-cache"
    response.set_etag(hashlib.sha256(response.get_data()).hexdigest()[:32])
    if response.status_code == HTTPStatus.OK:
        response.make_conditional(request)
    return response


@cache
def static_url(name: str) -> str:
    """Return the address of a static file, by its content: a browser asks for each content once."""
    return f"/static/{name}?v={hashlib.sha256(_static_files()[name]).hexdigest()[:12]}"


@blueprint.get("/static/<path:name>")
def static_file(name: str) -> Response:
    """A stylesheet, a script or a picture of the program's own."""
    content = _static_files().get(name)
    if content is None:
        abort(404)
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    response = revalidated(Response(content, content_type=kind))
    if request.full_path == static_url(name):
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    return response


@cache
def _static_files() -> dict[str, bytes]:
    """Return all static files by path: no other file in the file system can be requested."""
    return {
        str(path.relative_to(STATIC)): path.read_bytes()
        for path in STATIC.rglob("*")
        if path.is_file()
    }
