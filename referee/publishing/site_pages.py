"""The pages of a site: the board, a page for each team, the JSON document, and the badge."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lpirc_score.tasks.words import words_of
from referee.pages import STATIC, template_environment
from referee.pages.badge import badge
from referee.publishing.certificates import prizes_of
from referee.publishing.public_site import SiteDocument, team_page_name
from referee.publishing.run_files import RunFiles

ASSETS = ("style.css", "site.css", "icon.svg", "times.js")
RENEWING = "renew.js"
LISTS = ("ranking", "unranked", "left_out")


def pages_of(
    document: SiteDocument, made: RunFiles, every_s: int | None
) -> dict[str, bytes]:
    """Return the content of all pages by path. `every_s` is how often pages renew themselves; None: they do not."""
    assets = ASSETS if every_s is None else (*ASSETS, RENEWING)
    found = {name: (STATIC / name).read_bytes() for name in assets}
    text = json.dumps(document.board, ensure_ascii=False)
    found["board.json"] = _bytes_of(f"{text}\n")
    found["badge.svg"] = _bytes_of(badge(document.board))

    pages = {team: team_page_name(team) for team in document.teams}
    shared: dict[str, object] = {
        "board": document.board,
        "pages": pages,
        "made": made,
        "every_s": every_s,
        "held": _held(document.board),
    }
    front = _rendered("site_board.html", "", shared)
    found["index.html"] = _bytes_of(front)
    for team, name in pages.items():
        values = shared | _of_team(document.board, team)
        page = _rendered("site_team.html", "../", values)
        found[name] = _bytes_of(page)
    return found


def _held(board: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return when the first and the last run of the board were opened, UTC; None if none was."""
    attempts = [one for team in board["teams"].values() for one in team["attempts"]]
    opened = sorted(one["utc"] for one in attempts)
    return (opened[0], opened[-1]) if opened else None


def _of_team(board: Mapping[str, Any], team: str) -> dict[str, object]:
    """Return what the board says of a team."""
    found: dict[str, object] = {"team": team, "used": None}
    for name in LISTS:
        found[name] = [one for one in board[name] if one["team"] == team]
    for one in board["attempts"]:
        if one["team"] == team:
            found["used"] = one["used"]
    known = board["teams"].get(team, {})
    found["attempts"] = known.get("attempts", [])
    found["prizes"] = [one.name for one in prizes_of(board, team)]
    return found


def _rendered(template: str, root: str, values: Mapping[str, object]) -> str:
    """Return a page whose relative links begin with `root`."""
    board = values["board"]
    task = board.get("task") if isinstance(board, Mapping) else None
    words = words_of(task)
    environment = template_environment("referee.publishing", words=words)
    environment.globals["static"] = lambda name: f"{root}{name}"
    return environment.get_template(template).render(**values, root=root, theme=None)


def _bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "replace")
