"""Sessions of teams' own pages, for tests: log in, ask with the cookie, read the page's CSRF token."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import requests

from tests.contest_day import PASSWORD, TEAM, Server

COOKIE = "referee-team"
CSRF = re.compile(r'name="csrf" value="(\w+)"')


def log_in(
    server: Server,
    team: str = TEAM,
    password: str = PASSWORD,
    **headers: str,
) -> requests.Response:
    """The answer to the form of the log-in page."""
    form = {"team": team, "password": password}
    return server.ask(
        "POST", "/team/login", None, headers, data=form, allow_redirects=False
    )


@dataclass(frozen=True)
class TeamBrowser:
    """A browser with a team's cookie."""

    server: Server
    cookie: str

    def ask(
        self,
        method: str,
        path: str,
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> requests.Response:
        bearing = {"Cookie": f"{COOKIE}={self.cookie}"} | (headers or {})
        return self.server.ask(
            method, path, None, bearing, allow_redirects=False, **more
        )

    def view(self) -> dict[str, Any]:
        answer = self.ask("GET", "/v1/team")
        assert answer.status_code == 200, answer.text
        document: dict[str, Any] = answer.json()
        return document

    @property
    def csrf(self) -> str:
        found = CSRF.search(self.ask("GET", "/team/").text)
        assert found is not None
        return found[1]

    def question(self, text: str, csrf: str | None = None) -> requests.Response:
        headers = {"X-CSRF-Token": self.csrf if csrf is None else csrf}
        return self.ask("POST", "/team/questions", headers, json={"text": text})


def team_browser(server: Server, team: str = TEAM) -> TeamBrowser:
    """A browser in which the team has logged in."""
    answer = log_in(server, team)
    assert answer.headers["Location"] == "/team/", answer.headers
    return TeamBrowser(server, answer.cookies[COOKIE])
