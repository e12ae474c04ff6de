"""The route by which a team asks the jury."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify, redirect, request

from referee.errors import RefereeError
from referee.web.app_parts import part
from referee.web.callers import Callers
from referee.web.problem_documents import answer_to, note_refusal
from referee.web.question_texts import question_text
from referee.web.refused_requests import Refusals
from referee.web.request_bodies import read_texts
from referee.web.team.team_access import (
    TEAM_PATH,
    read_form,
    require_csrf,
    require_team,
)
from referee.web.team.team_desk import TeamsDesk
from referee.web.team.team_pages import team_page
from referee.web.web_request import present_request

MOST_OPEN = 3
FORM = "application/x-www-form-urlencoded"

blueprint = Blueprint("team-questions", __name__, url_prefix=TEAM_PATH)


@blueprint.post("/questions")
def ask() -> Response:
    """Put a question to the jury; from the page's form, or as JSON `{text}` with the header X-CSRF-Token.

    A form that is refused comes back with its text.
    """
    team = require_team()
    if request.mimetype != FORM:
        require_csrf(request.headers.get("X-CSRF-Token", ""))
        (given,) = read_texts("text")
        number = _ask(team, given)
        answer = jsonify(id=number)
        answer.status_code = 201
        return answer
    fields = read_form()
    require_csrf(fields.get("csrf", ""))
    given = fields.get("text", "")
    try:
        _ask(team, given)
    except RefereeError as error:
        status = answer_to(error).status
        note_refusal(part(Refusals), present_request(), error, status)
        return team_page(team, status, text=given, refused=error.sentence)
    return redirect(f"{TEAM_PATH}/#questions", 303)  # type: ignore[return-value]


def _ask(team: str, given: str) -> int:
    callers = part(Callers)
    text = question_text(given, "question")
    now = callers.clock.utc()
    number = callers.contest.store.questions.ask(team, text, now, MOST_OPEN)
    part(TeamsDesk).renew()
    return number
