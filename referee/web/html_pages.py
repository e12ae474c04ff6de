"""HTML pages: rendered templates, the static files, and the headers that keep out foreign content."""

from __future__ import annotations

import hashlib
import mimetypes
from functools import cache
from http import HTTPStatus
from typing import Any

from flask import Blueprint, Response, abort, request

from lpirc_score.tasks.words import words_of
from referee.auth.operator_names import doer
from referee.pages import STATIC, template_environment
from referee.pages.team_address import team_address
from referee.web.made_once import made_once
from referee.web.packing import is_packable, packed, takes_gzip

SECURITY_HEADERS = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'; form-action 'self'; base-uri 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}

REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; base-uri 'none'"
"""Content policy of a run's report, which is one file with its own styles and pictures, and no script."""

PAGE_VERSION = "Page-Version"
"""Header of pages and their parts: a page that is open learns by it that a server of another version answers."""
THEMES = ("light", "dark")
MOST_TEMPLATES = 256

blueprint = Blueprint("pages", __name__)


@cache
def _environment() -> Any:
    environment = template_environment("referee.web")
    environment.globals |= {
        "static": static_url,
        "page_version": page_version,
        "doer": doer,
        "team_address": team_address,
    }
    return environment


def speak_of(task: str) -> None:
    """Have all pages use the words of the contest's task."""
    _environment().globals["of_task"] = words_of(task)


def rendered(template: str, **values: object) -> str:
    """Return a template, rendered as text."""
    text: str = _template(template).render(**values)
    return text


@made_once(MOST_TEMPLATES)
def _template(name: str) -> Any:
    """Return a template, which takes some 10 ms to compile."""
    return _environment().get_template(name)


def page(template: str, status: int = 200, **values: object) -> Response:
    """Return a rendered page; 304 if the browser has this version.

    A page with the secret `csrf` is never compressed: it also shows words of strangers, whose choice would make the
    length of the answer depend on the secret (BREACH).
    """
    chosen = request.cookies.get(
        "theme"
    )  # set by the button of live.js; by default the system decides
    values = {"theme": chosen if chosen in THEMES else None} | values
    text = rendered(template, **values)
    return html(text, status, packs="csrf" not in values)


def html(text: str, status: int = 200, *, packs: bool = True) -> Response:
    """Return a response with a page or a part of one; compressed if it `packs` and the browser reads gzip."""
    response = Response(text, status, content_type="text/html; charset=utf-8")
    response.headers[PAGE_VERSION] = page_version()
    return revalidated(response, packs=packs)


def revalidated(response: Response, *, packs: bool = True) -> Response:
    """Give the response an ETag of its content: browsers ask each time, and unchanged content costs only a 304."""
    response.headers |= SECURITY_HEADERS
    response.headers["Cache-Control"] = "no-cache"
    content = response.get_data()
    # A weak tag, because it is the same for both encodings.
    response.set_etag(hashlib.sha256(content).hexdigest()[:32], weak=True)
    if packs and is_packable(content, response.content_type or ""):
        response.vary.add("Accept-Encoding")
        if takes_gzip(request.headers.get("Accept-Encoding", "")):
            response.set_data(packed(content))
            response.headers["Content-Encoding"] = "gzip"
    if response.status_code == HTTPStatus.OK:
        response.make_conditional(request)
    return response


@cache
def page_version() -> str:
    """Return a short digest of all static files: pages of one version have the same scripts and styles."""
    digest = hashlib.sha256()
    for name, content in sorted(_static_files().items()):
        digest.update(name.encode() + b"\0" + content)
    return digest.hexdigest()[:12]


@cache
def static_url(name: str) -> str:
    """Return the URL of a static file, which contains a hash, so that a browser requests each version once."""
    return f"/static/{name}?v={hashlib.sha256(_static_files()[name]).hexdigest()[:12]}"


@blueprint.get("/static/<path:name>")
def static_file(name: str) -> Response:
    """Answer with one of the program's own stylesheets, scripts or pictures."""
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
    """Return all static files by path, so that no other file can be requested."""
    return {
        str(path.relative_to(STATIC)): path.read_bytes()
        for path in STATIC.rglob("*")
        if path.is_file()
    }
