"""The sheet with a strip for each team to cut off: address, password, and how to log in."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping

from referee.pages import page_style, template_environment


def team_sheet(
    named: Mapping[str, str | None],
    passwords: Mapping[str, str],
    new: Mapping[str, str | None],
) -> str:
    """Return the page with a strip for each team; `named` has contest, url and key, `new` the affiliations."""
    page = template_environment().get_template("team_sheet.html")
    strips = strips_of(str(named["url"]), passwords, new)
    return page.render(**named, strips=strips, style=page_style())


def strips_of(
    url: str, passwords: Mapping[str, str], new: Mapping[str, str | None]
) -> list[dict[str, str | None]]:
    """Return what the strip of each team says."""
    return [
        {
            "team": team,
            "affiliation": new[team],
            "password": password,
            "log_in": _curl(url, team, password),
            "client": _client(url, team),
        }
        for team, password in passwords.items()
    ]


def _client(url: str, team: str) -> str:
    command = ("lpirc-client", "run", url, "--team", team)
    return f"{shlex.join(command)} --detector mymodule:detect"


def _curl(url: str, team: str, password: str) -> str:
    body = shlex.quote(
        json.dumps({"team": team, "password": password}, ensure_ascii=False)
    )
    return f"curl {shlex.quote(url + '/v1/session')} -H 'Content-Type: application/json' -d {body}"
