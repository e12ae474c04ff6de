"""The public boards of the tracks, as pages and as JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

from flask import Blueprint, Response, request

from lpirc_tracks.submissions.open_track import configured_track
from lpirc_tracks.submissions.publishing import board_document
from referee.pages.local_times import local_date, utc_moment
from referee.pages.score_curves import Curve, score_curves
from referee.web.app_parts import part
from referee.web.callers import Callers
from referee.web.html_pages import page
from referee.web.http_answers import through_flask
from referee.web.plugged_pages import PluggedPages
from referee.web.public.kept_answers import Kept, answer_of, keep

blueprint = Blueprint("tracks", __name__, url_prefix="/tracks")
COLUMNS = (
    "rank",
    "team",
    "score",
    "public_score",
    "entries",
    "accepted_utc",
    "level_with",
)
LEVEL = "Level with: on other images of this kind, the order of these two neighbours is less than 95 % certain."


@blueprint.get("/<name>.json")
def as_json(name: str) -> Response:
    """Answer with the board of a track as JSON."""
    state = part(Callers)
    second = int(state.clock.utc().timestamp())
    return through_flask(
        answer_of(_kept_at(state.contest.folder, name, second), request.environ)
    )


@blueprint.get("/<name>")
def as_page(name: str) -> Response:
    """Answer with the board of a track as a page."""
    board = _board(name)
    rows = [
        [_cell(_shown(place, column)) for column in COLUMNS]
        for place in board["places"]
    ]
    counts = f"Entries: {board['entries']}; failed: {board['failed']}; not scored yet: {board['waiting']}"
    if board.get("in_review"):  # a board that an earlier version published does not say
        counts += f"; in review: {board['in_review']}"
    if board["outdated"]:
        counts += f"; left out because measured on other images: {board['outdated']}"
    return page(
        "table.html",
        title=name,
        about=f"{board['title']}: {board['metric']}. {_which(board)}",
        columns=[
            (column.replace("_", " "), column not in ("team", "level_with"))
            for column in COLUMNS
        ],
        rows=rows,
        notes=[*_provisional(board), f"{counts}.", LEVEL, *_notes(board)],
        made_utc=part(Callers).clock.utc().isoformat(),
        style="",
        links=_links(name),
        curves=_curves(board),
    )


def _links(name: str) -> list[tuple[str, str]]:
    """Return where else to go: the board of the contest, the other tracks, the documents."""
    address = f"{blueprint.url_prefix}/{quote(name)}"
    links = [("Board", "/"), *part(PluggedPages).links]
    links = [link for link in links if link[1] != address]
    return [*links, ("JSON", f"{address}.json"), ("How to take part", "/docs/entries")]


def _curves(board: dict[str, Any]) -> str:
    """Draw the best score so far, at each entry that is the best of its team now."""
    best = sorted(board["places"], key=lambda place: str(place["accepted_utc"]))
    points = []
    highest = 0.0
    for place in best:
        highest = max(highest, place["score"])
        points.append((utc_moment(place["accepted_utc"]), highest))
    leader = board["places"][0]["team"] if board["places"] else ""
    curve = Curve(1, leader, points)
    return score_curves([curve], f"Best score so far ({board['metric']})")


def _which(board: dict[str, Any]) -> str:
    """Return a sentence on which board is shown, and who published it when."""
    published = board["published"]
    if published is None and board["holdout_until"] is None:
        return "This board uses the public images; there will be no final board."
    if published is None:
        return "This board uses the public images; it is not the final board."
    at = f"{published['utc'][:16].replace('T', ' ')} UTC"
    if published["by"] is None:
        how = f"published automatically at {at}, as set in contest.toml"
        return f"This is the final board, on the hold-out images, {how}."
    return f"This is the final board, on the hold-out images, published at {at} by {published['by']}."


def _notes(board: dict[str, Any]) -> list[str]:
    """Return notes about the final board as long as it is not shown."""
    if board["published"] is not None or board["holdout_until"] is None:
        return []
    until = board["holdout_until"]
    state = (
        f"was closed at {until}" if board["closed"] else f"takes entries until {until}"
    )
    later = "The final board uses secret images. It is shown when the organiser has published it."
    notes = [f"The track {state}. {later}"]
    if (taken_back := board["taken_back"]) is not None:
        at = f"{taken_back['utc'][:16].replace('T', ' ')} UTC"
        notes.append(f"A final board was taken back at {at}: {taken_back['reason']}.")
    return notes


def _provisional(board: dict[str, Any]) -> list[str]:
    return [] if board["provisional"] is None else [board["provisional"]]


def _board(name: str) -> dict[str, Any]:
    return _board_at(
        part(Callers).contest.folder, name, int(part(Callers).clock.utc().timestamp())
    )


@lru_cache(16)
def _kept_at(folder: Path, name: str, second: int) -> Kept:
    return keep(json.dumps(_board_at(folder, name, second)) + "\n", "application/json")


@lru_cache(16)
def _board_at(_: Path, name: str, second: int) -> dict[str, Any]:
    """Return the board; all requests within a second get the same one."""
    contest = part(Callers).contest
    return board_document(
        contest, configured_track(contest, name), datetime.fromtimestamp(second, UTC)
    )


def _shown(place: dict[str, Any], column: str) -> object:
    """Return the value of a column.

    The team column also shows who measured, unless it was the organiser, and marks an unofficial meter.
    """
    if column == "accepted_utc":
        return local_date(place["accepted_utc"])
    if column != "team":
        return place.get(column, "")
    doubts = []
    if place["measured_by"] is not None:
        doubts.append(f"measured by {place['measured_by']}, not by the organiser")
    if not place["official"]:
        doubts.append("unofficial meter")
    return f"{place['team']} ({'; '.join(doubts)})" if doubts else place["team"]


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3f}"
    if hasattr(value, "__html__"):  # an element already
        return cast(str, value)
    return ", ".join(value) if isinstance(value, list) else str(value)
