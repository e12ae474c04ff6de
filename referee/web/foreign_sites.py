"""Recognizes a form that a page of another web site has sent: a browser adds the site, and no page can forge it."""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import request

from referee.errors import LoginRefused

OWN_SITES = ("same-origin", "none")
OUR_HOST = ("Host", "X-Forwarded-Host")


def refuse_foreign_site() -> None:
    """Refuse a log-in that another web site has sent. Raises LoginRefused `bad-credentials`.

    That site could log a browser in as its own team, and so read what is asked there. Browsers tell `Sec-Fetch-Site`
    over HTTPS only; over HTTP, as in most halls, the page's `Origin` is compared with our own host.
    """
    site = request.headers.get("Sec-Fetch-Site")
    origin = request.headers.get("Origin")
    if site is not None:
        is_own = site in OWN_SITES
    elif origin is not None:
        hosts = [request.headers.get(name, "").lower() for name in OUR_HOST]
        host = urlsplit(origin).netloc.lower()
        is_own = bool(host) and host in hosts
    else:
        is_own = True  # a program
    if not is_own:
        raise LoginRefused("bad-credentials", "Log in by the log-in page itself.")
