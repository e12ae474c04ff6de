"""The settings' pages as a browser without scripts has them."""

from __future__ import annotations

import html
import re

import requests

from tests.contest_day import Day
from tests.timeouts import TIMEOUT_S

INPUT = re.compile(
    r"<input\b[^>]*>|<select\b.*?</select>",
    re.DOTALL,
)
ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')


class Pages:
    """The settings' pages as a browser without scripts has them."""

    def __init__(
        self,
        day: Day,
    ) -> None:
        assert day.server is not None
        self.url = f"{day.server.url}/operator/settings"
        self.session = requests.Session()
        self.session.trust_env = False
        key = (day.folder / "operator-key").read_text().strip()
        login = f"{day.server.url}/operator/login"
        self.session.post(
            login,
            data={"name": "ruth", "password": key},
        )

    def get(
        self,
        step: str,
    ) -> requests.Response:
        return self.session.get(
            f"{self.url}/{step}",
            timeout=TIMEOUT_S,
        )

    def form(
        self, step: str, action: str | None = None, nth: int = 0
    ) -> dict[str, str]:
        """The fields of a form of a step, as a browser would send them."""
        return fields(
            self.get(step).text,
            action or step,
            nth,
        )

    def post(
        self,
        step: str,
        form: dict[str, str],
    ) -> requests.Response:
        return self.session.post(
            f"{self.url}/{step}",
            data=form,
            timeout=TIMEOUT_S,
        )


def fields(
    page: str,
    action: str,
    nth: int = 0,
) -> dict[str, str]:
    """The fields of the form that is sent to `action`."""
    found = re.findall(
        rf'<form[^>]*action="/operator/settings/{action}(?:#[^"]*)?"[^>]*>(.*?)</form>',
        page,
        re.DOTALL,
    )
    sent = {}
    for one in INPUT.findall(found[nth]):
        named = dict(ATTRIBUTE.findall(one.partition(">")[0]))
        if one.startswith("<select"):
            options = re.findall(r'value="([^"]*)"( selected)?', one)
            chosen = [value for value, mark in options if mark] or [options[0][0]]
            sent[named["name"]] = chosen[0]
        elif named.get("type") != "checkbox" or " checked" in one:
            sent[named["name"]] = named.get(
                "value",
                "",
            )
    return {name: html.unescape(value) for name, value in sent.items()}


def edit(
    day: Day,
    old: str,
    new: str,
) -> str:
    """Save contest.toml as an editor does; return its text."""
    path = day.folder / "contest.toml"
    text = path.read_text()
    assert old in text
    path.write_text(
        text.replace(
            old,
            new,
            1,
        )
    )
    return path.read_text()
