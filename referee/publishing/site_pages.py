"""Writes the pages of a site: the board, a page for each team, the JSON document, and the badge."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from referee.pages import STATIC, template_environment
from referee.pages.badge import badge
from referee.publishing.public_site import SiteDocument, team_page_name
from referee.publishing.run_files import RunFiles, prizes_of

ASSETS = ("style.css", "site.css", "icon.svg", "times.js")
RENEWING = "renew.js"
LISTS = ("ranking", "unranked", "left_out")


def write_pages(
    document: SiteDocument,
    folder: Path,
    made: RunFiles,
    every_s: int | None,
) -> None:
    """Write all pages into a folder. `every_s` is how often pages renew themselves; None: they do not."""
    assets = ASSETS if every_s is None else (*ASSETS, RENEWING)
    for name in assets:
        (folder / name).write_bytes((STATIC / name).read_bytes())
    text = json.dumps(document.board, ensure_ascii=False)
    _write(folder / "board.json", f"{text}\n")
    _write(folder / "badge.svg", badge(document.board))

    pages = {team: team_page_name(team) for team in document.teams}
    shared: dict[str, object] = {
        "board": document.board,
        "pages": pages,
        "made": made,
        "every_s": every_s,
        "held": _held(document.board),
    }
    front = _rendered("site_board.html", "", shared)
    _write(folder / "index.html", front)
    for team, name in pages.items():
        values = shared | _of_team(document.board, team)
        page = _rendered("site_team.html", "../", values)
        _write(folder / name, page)


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
    found["prizes"] = prizes_of(board, team)
    return found


def _rendered(template: str, root: str, values: Mapping[str, object]) -> str:
    """Return a page whose relative links begin with `root`."""
    environment = template_environment("referee.publishing")
    environment.globals["static"] = lambda name: f"{root}{name}"
    return environment.get_template(template).render(**values, root=root, theme=None)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", errors="replace")
