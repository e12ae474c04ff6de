"""The operator's route that answers teams' questions."""

from __future__ import annotations

from collections.abc import Iterable

from flask import Blueprint, Response, jsonify

from referee.errors import RefereeError
from referee.web.app_parts import part
from referee.web.callers import Callers
from referee.web.operator.operator_access import acting, require_operator
from referee.web.operator.run_routes import NOT_GIVEN, act
from referee.web.question_texts import question_text, teams_named
from referee.web.request_bodies import is_yes, read_texts
from referee.web.request_slots import OPERATOR_PATH
from referee.web.team.team_desk import TeamsDesk

blueprint = Blueprint("operator-questions", __name__, url_prefix=OPERATOR_PATH)
blueprint.before_request(require_operator)


@blueprint.post("/questions/<int:number>/answer")
def answer(number: int) -> Response:
    """Answer a question, for its team alone or, with `to_all` = "yes", for everyone, without the team's name.

    `wording` is the question as everyone reads it, by default as asked. Where it or the answer has the name of a team,
    `may_name` = "yes" says that everyone may read the name. A further answer replaces the earlier one.
    """
    given, wanted, worded, may_name = read_texts(
        "answer", to_all="no", wording=NOT_GIVEN, may_name="no"
    )
    text = question_text(given, "answer")
    to_all = is_yes("to_all", wanted)
    callers = part(Callers)
    store = callers.contest.store
    question = store.questions.get(number)
    wording = None
    if to_all and worded:
        wording = question_text(worded, "question")
        if wording == question.text:
            wording = None
    if to_all and not is_yes("may_name", may_name):
        _require_no_name(f"{wording or question.text}\n{text}", store.teams.all())
    now = callers.clock.utc()
    with act(
        "answer", question=number, answer=text, to_all=to_all, wording=wording
    ) as under_way:
        store.questions.answer(
            number,
            str(acting()),
            text,
            now,
            to_all=to_all,
            wording=wording,
            act=under_way,
        )
    part(TeamsDesk).renew()
    return jsonify(id=number, answer=text, to_all=to_all)


def _require_no_name(text: str, teams: Iterable[str]) -> None:
    """Raise RefereeError `team-named` if everyone would read the name of a team."""
    named = teams_named(text, teams)
    if named:
        sentence = (
            f"Everyone would read the name {' and '.join(named)}, and teams are promised that they are not named: "
            "change the wording of the question or the answer, or tick that names may be read."
        )
        raise RefereeError("team-named", sentence)
