"""The operator's routes of the public board: freeze it, and unveil it from the last place upwards."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify

from referee.errors import RefereeError
from referee.judging.freeze import Freeze
from referee.judging.public_documents import empty_board, log_head, public_board
from referee.web.app_parts import part
from referee.web.operator.operator_access import require_operator
from referee.web.operator.run_routes import act
from referee.web.published_board import PublishedBoard
from referee.web.request_bodies import read_texts
from referee.web.request_slots import OPERATOR_PATH

ALL = "all"
MANY = 10**6

blueprint = Blueprint("operator_board", __name__, url_prefix=OPERATOR_PATH + "/board")
blueprint.before_request(require_operator)


@blueprint.post("/freeze")
def freeze() -> Response:
    """Freeze the board, and store that before answering. A board that is already frozen stays frozen."""
    board = part(PublishedBoard)
    contest = board.contest
    found = contest.store.published.get()
    if not Freeze(found).is_on:
        with act("board-freeze") as under_way:
            contest.store.published.freeze(
                board.clock.utc(), empty_board(contest), under_way
            )
    return _changed(board)


@blueprint.post("/unveil")
def unveil() -> Response:
    """Unveil the lowest place not shown yet or, if `places` is "all", every remaining place.

    Once all places are shown, the board is live again. `seen` is how many places the operator sees unveiled: if two
    operators act at once, only one place is shown. Raises RefereeError `board-state`, also if the board is not frozen,
    and `bad-json`.
    """
    wanted, seen = read_texts(places="1", seen="")
    if wanted not in ("1", ALL):
        raise RefereeError(
            "bad-json", f'"places" is {wanted!r}; it must be "1" or "{ALL}".'
        )
    board = part(PublishedBoard)
    contest = board.contest
    now = board.clock.utc()
    found = contest.store.published.get()
    if found is None or not Freeze(found).is_on:
        raise RefereeError(
            "board-state",
            "The board is live, there is nothing to unveil; freeze it first.",
        )
    final = found.final or public_board(
        contest, now, log=log_head(contest, now), before=found
    )
    places = 1 if wanted == "1" else MANY
    with act("board-unveil", places=wanted) as under_way:
        is_as_seen = not seen or seen == str(found.unveiled)
        if not is_as_seen or not contest.store.published.unveil(
            now, final, found.unveiled, places, under_way
        ):
            sentence = "Another operator has just unveiled a place; look at the board before you unveil the next one."
            raise RefereeError("board-state", sentence)
    return _changed(board)


def _changed(board: PublishedBoard) -> Response:
    board.forget()
    row = board.row()
    return jsonify(
        state=row.state,
        frozen_utc=row.frozen_utc,
        unveiled=row.unveiled,
        places=row.places,
    )
