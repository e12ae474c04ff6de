"""The page that a person at a browser gets instead of a problem document, with the same status and headers.

A browser is who asks for both HTML and XHTML, as all browsers do when a person follows a link. Programs do not: the
default of Java's HttpURLConnection names HTML alone, scripts of pages ask for anything, and whoever sends a token is a
program.
"""

from __future__ import annotations

import json
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from werkzeug.http import parse_accept_header, parse_cookie

from referee.web.html_pages import SECURITY_HEADERS, THEMES, rendered
from referee.web.http_answers import Answer, Environ, Stream
from referee.web.page_sentences import without_commands

OF_BROWSERS = frozenset({"text/html", "application/xhtml+xml"})
OF_PROGRAMS = frozenset({"application/json", "application/problem+json"})
REPLACED = ("Content-Type", "Content-Length")
TEAM_WAY = ("/team/", "Your team's page")
OPERATOR_WAY = ("/operator/", "Operators log in here")


def for_reader(environ: Environ, answer: Answer) -> Answer:
    """Return a problem document as it is to a program, as a page to a person."""
    # Even where no page is made the answer depends on who asks.
    headers = [*answer.headers, ("Vary", "Accept")]
    if not is_browser(environ) or isinstance(answer.body, Stream):
        return Answer(answer.status, headers, answer.body)

    text = _page(environ, answer.status, json.loads(answer.body))
    body = text.encode()
    kept = [one for one in headers if one[0] not in REPLACED]
    described = [
        ("Content-Type", "text/html; charset=utf-8"),
        ("Content-Length", str(len(body))),
    ]
    return Answer(answer.status, [*SECURITY_HEADERS.items(), *kept, *described], body)


def is_browser(environ: Environ) -> bool:
    """Return True if a person at a browser asks."""
    if "HTTP_AUTHORIZATION" in environ:
        return False
    return _accepts_pages(environ.get("HTTP_ACCEPT", ""))


@lru_cache(64)  # browsers send few different values
def _accepts_pages(accepted: str) -> bool:
    wanted = {kind for kind, quality in parse_accept_header(accepted) if quality > 0}
    return wanted >= OF_BROWSERS and not wanted & OF_PROGRAMS


def _page(environ: Environ, status: int, problem: dict[str, Any]) -> str:
    theme = parse_cookie(environ.get("HTTP_COOKIE", "")).get("theme")
    path = environ.get("PATH_INFO", "")
    ways = [("/", "The board"), ("/client/", "For contestants' systems")]
    if path.startswith("/operator") or status == HTTPStatus.UNAUTHORIZED:
        ways.append(OPERATOR_WAY)
    if path.startswith("/team/"):
        ways.append(TEAM_WAY)
    return rendered(
        "public/error.html",
        theme=theme if theme in THEMES else None,
        status=status,
        title=problem["title"],
        sentence=without_commands(problem["detail"]),
        code=problem["code"],
        retry_after_s=problem.get("retry_after_s"),
        ways=ways,
    )
