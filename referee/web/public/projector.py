"""The board on the projector of a hall, `/?view=projector`, to be read from 15 m, and the ceremony of the unveiling.

Its changing part is made from the published row alone, like the board. An operator who is logged in may unveil the
places from here by keys.
"""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request

from referee.store.records import BoardState, Published
from referee.web.app_parts import part
from referee.web.callers import Callers, operator_of
from referee.web.html_pages import THEMES, page, rendered
from referee.web.http_answers import Answer, through_flask
from referee.web.made_once import made_once
from referee.web.operator.operator_access import csrf_token
from referee.web.public import shown_board
from referee.web.public.hall_address import code_of, hall_address
from referee.web.public.kept_answers import Kept, answer_of, keep
from referee.web.public.shown_board import page_of
from referee.web.published_board import PublishedBoard
from referee.web.web_request import WebRequest, present_request

VIEW = "projector"
LIVE_PATH = "/board/projector"
REPLAY_AND_BOARD = "/replay?view=projector&turn=board"
LEADERS = 3

blueprint = Blueprint("projector", __name__)


def screen() -> Response:
    """Answer with the page, which fills a screen; it is dark unless `theme=light`.

    With `turn=replays` it leads to the replay of the newest heat and back, while there is one and no team runs.
    """
    board = part(PublishedBoard)
    row = board.row()
    config = board.contest.config
    theme = request.args.get("theme")
    address = hall_address(config.board_url, request)
    is_operator = operator_of(part(Callers), present_request()) is not None
    answer = page(
        "public/projector.html",
        200,
        live=_live_part(row, is_old=shown_board.is_old(board, row)),
        contest=config.name,
        theme=theme if theme in THEMES else "dark",
        address=address,
        code=code_of(address),
        turn=REPLAY_AND_BOARD if request.args.get("turn") == "replays" else None,
        csrf=csrf_token() if is_operator else None,
    )
    answer.headers["Cache-Control"] = "no-store" if is_operator else "no-cache"
    return answer


def live_part(board: PublishedBoard, asked: WebRequest) -> Answer:
    """Answer GET or HEAD of /board/projector with the changing part of the page."""
    row = board.row()
    kept = _kept_live_part(row, is_old=shown_board.is_old(board, row))
    return answer_of(kept, asked.environ)


@blueprint.get(LIVE_PATH)
def live_part_route() -> Response:
    """Answer with `live_part` through Flask."""
    return through_flask(live_part(part(PublishedBoard), present_request()))


@made_once(4)
def _kept_live_part(row: Published, *, is_old: bool) -> Kept:
    return keep(_live_part(row, is_old=is_old), "text/html; charset=utf-8")


@made_once(4)
def _live_part(row: Published, *, is_old: bool) -> str:
    board = page_of(row, is_old=is_old)
    has_unveiled = row.state is BoardState.LIVE and row.unveiled_utc is not None
    return rendered(
        "public/projector_live.html",
        board=board,
        unveiled=_unveiled(board),
        leaders=LEADERS,
        has_unveiled=has_unveiled,
    )


def _unveiled(board: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the places that an unveiling has shown, the newest first."""
    if board["state"] != BoardState.UNVEILING:
        return []
    return [place for place in board["ranking"] if place["rank"] is not None]
