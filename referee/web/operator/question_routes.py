"""The operator's route that answers teams' questions."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify

from referee.errors import RefereeError
from referee.web.app_parts import part
from referee.web.callers import Callers
from referee.web.operator.operator_access import acting, require_operator
from referee.web.operator.run_routes import act
from referee.web.question_texts import question_text
from referee.web.request_bodies import read_texts
from referee.web.request_slots import OPERATOR_PATH
from referee.web.team.team_desk import TeamsDesk

TO_ALL = {"yes": True, "no": False}

blueprint = Blueprint("operator-questions", __name__, url_prefix=OPERATOR_PATH)
blueprint.before_request(require_operator)


@blueprint.post("/questions/<int:number>/answer")
def answer(number: int) -> Response:
    """Answer a question, for its team alone or, with `to_all` = "yes", for everyone, without the team's name.

    A further answer replaces the earlier one.
    """
    given, wanted = read_texts("answer", to_all="no")
    if wanted not in TO_ALL:
        raise RefereeError(
            "bad-json", f'"to_all" is {wanted!r:.20}; it must be "yes" or "no".'
        )
    text = question_text(given, "answer")
    to_all = TO_ALL[wanted]
    callers = part(Callers)
    now = callers.clock.utc()
    with act("answer", question=number, answer=text, to_all=to_all) as under_way:
        callers.contest.store.questions.answer(
            number, str(acting()), text, now, to_all=to_all, act=under_way
        )
    part(TeamsDesk).renew()
    return jsonify(id=number, answer=text, to_all=to_all)
