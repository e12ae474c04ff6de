"""The boards of the tracks for everyone, as pages and as JSON."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Any

from flask import Blueprint, Response, jsonify

from referee.tracks.submissions.entries import board_document
from referee.tracks.submissions.open_track import configured_track
from referee.web.pages import page, revalidated
from referee.web.state import web_state

blueprint = Blueprint("tracks", __name__, url_prefix="/tracks")
COLUMNS = ("rank", "team", "score", "public_score", "entries", "failed", "accepted_utc", "level_with")
LEVEL = "Teams named as level are neighbours whose order is less than 95 % sure on other images of this kind."


@blueprint.get("/<name>.json")
def as_json(name: str) -> Response:
    """The board of a track as a document."""
    return revalidated(jsonify(_board(name, _second())))


@blueprint.get("/<name>")
def as_page(name: str) -> Response:
    """The board of a track for a browser."""
    now = _second()
    board = _board(name, now)
    rows = [[_cell(place.get(column)) for column in COLUMNS] for place in board["places"]]
    until = board["holdout_until"]
    secret = (
        f"A secret part of the images is held out until {until}; the final board is by it." if until else ""
    )
    return page(
        "table.html",
        title=name,
        about=f"{board['title']}: {board['metric']}, by the {board['split']} part.",
        columns=[(column.replace("_", " "), column not in ("team", "level_with")) for column in COLUMNS],
        rows=rows,
        notes=[
            f"{board['entries']} entries, {board['failed']} of them failed.",
            LEVEL,
            *([secret] if secret else []),
        ],
        made=f"{now[:19]} UTC",
        style="",
    )


def _second() -> str:
    return web_state().clock.utc().replace(microsecond=0).isoformat()


@lru_cache(64)
def _board(name: str, second: str) -> dict[str, Any]:
    """The board as of this second, for all who ask within it."""
    contest = web_state().contest
    return board_document(contest, configured_track(contest, name), datetime.fromisoformat(second))


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    return ", ".join(value) if isinstance(value, list) else "" if value is None else str(value)
