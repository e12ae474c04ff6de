"""The public board as a page at `/`, its changing part, and JSON; all are made from the published row alone."""

from __future__ import annotations

import json
from datetime import datetime
from functools import lru_cache
from typing import Any

from flask import Blueprint, Response, redirect, request
from werkzeug.wrappers import Response as AnyResponse

from referee.judging.freeze import NOT_KNOWN, public_view
from referee.store.records import Published
from referee.web.app_parts import part
from referee.web.html_pages import page, rendered
from referee.web.http_answers import Answer, through_flask
from referee.web.plugged_pages import PluggedPages
from referee.web.public.kept_answers import Kept, answer_of, keep
from referee.web.published_board import PublishedBoard
from referee.web.web_request import WebRequest, present_request

BAR_WIDTH = 200  # of the picture of an interval, in its own units
OLD_S = 10.0
"""Age at which live figures are outdated: while a run is open the board is published each second.

Older figures are from a process that has ended.
"""

JSON_PATH = "/board.json"
LIVE_PATH = "/board/live"

blueprint = Blueprint("board", __name__)


@blueprint.route("/", methods=["GET", "POST"])
def front() -> AnyResponse:
    """Answer with the board for a browser; `?view=projector` fills a screen.

    Clients of 2015 to 2019 get the help instead.
    """
    if request.method == "POST" or "text/html" not in request.headers.get("Accept", ""):
        return redirect("/help")
    board = part(PublishedBoard)
    row = board.row()
    live = _live_part(row, old=is_old(board, row))
    hall = {"view": ""}
    if request.args.get("view") == "projector":
        hall = {"view": "projector", "theme": "dark"}
    config = board.contest.config
    return page(
        "public/board.html",
        200,
        live=live,
        contest=config.name,
        links=part(PluggedPages).links,
        **hall,
    )


def live_part(board: PublishedBoard, asked: WebRequest) -> Answer:
    """Answer GET or HEAD of /board/live with the changing part of the page."""
    row = board.row()
    kept = _kept_live_part(row, old=is_old(board, row))
    return answer_of(kept, asked.environ)


def as_json(board: PublishedBoard, asked: WebRequest) -> Answer:
    """Answer GET or HEAD of /board.json with the document of the board's state."""
    row = board.row()
    kept = _kept_json(row, old=is_old(board, row))
    return answer_of(kept, asked.environ)


@blueprint.get(LIVE_PATH)
def live_part_route() -> Response:
    """Answer with `live_part` through Flask."""
    return through_flask(live_part(part(PublishedBoard), present_request()))


@blueprint.get(JSON_PATH)
def as_json_route() -> Response:
    """Answer with `as_json` through Flask."""
    return through_flask(as_json(part(PublishedBoard), present_request()))


def is_old(board: PublishedBoard, row: Published) -> bool:
    """Return True if the published figures of open runs are outdated."""
    if not row.utc:
        return False
    age = board.clock.utc() - datetime.fromisoformat(row.utc)
    return age.total_seconds() > OLD_S


def shown_board(row: Published, *, old: bool) -> dict[str, Any]:
    """Return the public view of a row; the figures of open runs are not known if they are `old`."""
    board = public_view(row)
    if old:
        board["now"] = [run | NOT_KNOWN for run in board["now"]]
    return board


@lru_cache(4)
def _kept_json(row: Published, *, old: bool) -> Kept:
    text = json.dumps(shown_board(row, old=old), ensure_ascii=False) + "\n"
    return keep(text, "application/json")


@lru_cache(4)
def _kept_live_part(row: Published, *, old: bool) -> Kept:
    return keep(_live_part(row, old=old), "text/html; charset=utf-8")


@lru_cache(4)
def _live_part(row: Published, *, old: bool) -> str:
    board = shown_board(row, old=old)
    for run in board["now"]:
        run["remaining_s"] = remaining_s(run, board["utc"])
    highest = (place["score_high"] or place["score"] for place in board["ranking"])
    most = max(highest, default=0.0) or 1.0
    for place in board["ranking"]:
        place["bar"] = _bar(place, most)
    return rendered("public/board_live.html", board=board)


def remaining_s(run: dict[str, Any], utc: str) -> float | None:
    """Return the seconds that were left of a run's window at `utc`; None before the window has opened."""
    if run["ends_utc"] is None:
        return None
    left = datetime.fromisoformat(run["ends_utc"]) - datetime.fromisoformat(utc)
    return max(0.0, left.total_seconds())


def _bar(place: dict[str, Any], most: float) -> tuple[float, ...] | None:
    """Return the positions of the low, score and high values on the bar."""
    if place["score_low"] is None:
        return None
    figures = (place["score_low"], place["score"], place["score_high"])
    return tuple(round(BAR_WIDTH * one / most, 1) for one in figures)
