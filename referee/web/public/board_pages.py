"""The public board as a page at `/`, its changing part, and JSON; all are made from the published row alone."""

from __future__ import annotations

import json
from dataclasses import replace

from flask import Blueprint, Response, redirect, request
from werkzeug.wrappers import Response as AnyResponse

from referee.judging.freeze import public_view
from referee.pages.badge import MEDIA_TYPE, badge
from referee.store.records import Published
from referee.web.app_parts import part
from referee.web.html_pages import page, rendered
from referee.web.http_answers import Answer, through_flask
from referee.web.made_once import made_once
from referee.web.plugged_pages import PluggedPages
from referee.web.public import projector, shown_board
from referee.web.public.kept_answers import Kept, answer_of, keep
from referee.web.public.shown_board import document_of, page_of
from referee.web.published_board import PublishedBoard
from referee.web.web_request import WebRequest, present_request

BADGE_PATH = "/badge.svg"
JSON_PATH = "/board.json"
LIVE_PATH = "/board/live"
READ_BY_ALL = ("Access-Control-Allow-Origin", "*")

blueprint = Blueprint("board", __name__)


@blueprint.route("/", methods=["GET", "POST"])
def front() -> AnyResponse:
    """Answer with the board for a browser; `?view=projector` is for the screen of a hall.

    Clients of 2015 to 2019 get the help instead.
    """
    if request.method == "POST" or "text/html" not in request.headers.get("Accept", ""):
        return redirect("/help")
    if request.args.get("view") == projector.VIEW:
        return projector.screen()
    board = part(PublishedBoard)
    row = board.row()
    live = _live_part(row, is_old=shown_board.is_old(board, row))
    config = board.contest.config
    return page(
        "public/board.html",
        200,
        live=live,
        contest=config.name,
        links=part(PluggedPages).links,
    )


def live_part(board: PublishedBoard, asked: WebRequest) -> Answer:
    """Answer GET or HEAD of /board/live with the changing part of the page."""
    row = board.row()
    kept = _kept_live_part(row, is_old=shown_board.is_old(board, row))
    return answer_of(kept, asked.environ)


def as_json(board: PublishedBoard, asked: WebRequest) -> Answer:
    """Answer GET or HEAD of /board.json with the document of the board's state."""
    row = board.row()
    kept = _kept_json(row, is_old=shown_board.is_old(board, row))
    return for_other_sites(answer_of(kept, asked.environ))


def as_badge(board: PublishedBoard, asked: WebRequest) -> Answer:
    """Answer GET or HEAD of /badge.svg with who leads, as a picture for other web sites."""
    return for_other_sites(answer_of(_kept_badge(board.row()), asked.environ))


def for_other_sites(answer: Answer) -> Answer:
    """Let scripts of every web site read the answer (CORS): it is public, whoever asks."""
    return replace(answer, headers=[*answer.headers, READ_BY_ALL])


@blueprint.get(BADGE_PATH)
def as_badge_route() -> Response:
    """Answer with `as_badge` through Flask."""
    return through_flask(as_badge(part(PublishedBoard), present_request()))


@blueprint.get(LIVE_PATH)
def live_part_route() -> Response:
    """Answer with `live_part` through Flask."""
    return through_flask(live_part(part(PublishedBoard), present_request()))


@blueprint.get(JSON_PATH)
def as_json_route() -> Response:
    """Answer with `as_json` through Flask."""
    return through_flask(as_json(part(PublishedBoard), present_request()))


@made_once(4)
def _kept_json(row: Published, *, is_old: bool) -> Kept:
    text = json.dumps(document_of(row, is_old=is_old), ensure_ascii=False) + "\n"
    return keep(text, "application/json")


@made_once(4)
def _kept_badge(row: Published) -> Kept:
    return keep(badge(public_view(row)), MEDIA_TYPE)


@made_once(4)
def _kept_live_part(row: Published, *, is_old: bool) -> Kept:
    return keep(_live_part(row, is_old=is_old), "text/html; charset=utf-8")


@made_once(4)
def _live_part(row: Published, *, is_old: bool) -> str:
    board = page_of(row, is_old=is_old)
    return rendered("public/board_live.html", board=board)
