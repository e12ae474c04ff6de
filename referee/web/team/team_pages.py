"""A team's own page at `/team/`, its changing part, its log-in, and the same document as JSON at `/v1/team`."""

from __future__ import annotations

from http import HTTPStatus

from flask import Blueprint, Response, jsonify, redirect, request

from referee.web.app_parts import part
from referee.web.callers import Callers
from referee.web.html_pages import html, page
from referee.web.question_texts import LONGEST_TEXT
from referee.web.team.team_access import (
    OF_ONE_TEAM,
    TEAM_PATH,
    csrf_token,
    require_team,
    team_of_program,
    team_of_session,
)
from referee.web.team.team_desk import TeamsDesk

REFUSED = {
    "team-disabled": "The team is disabled. Ask the operator to enable it.",
    "too-many-failures": "There were too many failed log-ins. Wait a minute, then try again.",
    "too-many-requests": "Too many log-ins wait to be checked. Try again in a moment.",
}

blueprint = Blueprint("team", __name__)


@blueprint.get(f"{TEAM_PATH}/")
def front() -> Response:
    """Answer with the page of the team that is logged in; without a session, lead to the log-in."""
    team = team_of_session()
    if team is None:
        return _to(f"{TEAM_PATH}/login")
    return team_page(team)


@blueprint.get(TEAM_PATH)
def without_slash() -> Response:
    """Lead to the page, for those who type its address."""
    return _to(f"{TEAM_PATH}/")


@blueprint.get(f"{TEAM_PATH}/live")
def live() -> Response:
    """Answer with the changing part of the page."""
    team = require_team()
    response = html(part(TeamsDesk).look(team).fragment)
    response.headers["Cache-Control"] = OF_ONE_TEAM
    return response


@blueprint.get(f"{TEAM_PATH}/login")
def login() -> Response:
    """Answer with the log-in page."""
    code = request.args.get("refused")
    sentence = code and REFUSED.get(code, "The team or the password is wrong.")
    contest = part(Callers).contest.config.name
    return page("team/login.html", contest=contest, sentence=sentence)


@blueprint.get("/v1/team")
def as_json() -> Response:
    """Answer a program, by HTTP Basic or the team's session, with the team's document."""
    team = team_of_program()
    return jsonify(part(TeamsDesk).look(team).document)


def team_page(team: str, status: int = HTTPStatus.OK, **asked: str) -> Response:
    """Return the page of a team; `asked` has the `text` of a question that was `refused`, with the sentence."""
    look = part(TeamsDesk).look(team)
    response = page(
        "team/page.html",
        status,
        view=look.document,
        live=look.fragment,
        csrf=csrf_token(),
        longest=LONGEST_TEXT,
        asked={"text": "", "refused": None} | asked,
    )
    # After a log-out the browser's way back leads to the log-in.
    response.headers["Cache-Control"] = "no-store"
    return response


def _to(where: str) -> Response:
    return redirect(where, HTTPStatus.SEE_OTHER)  # type: ignore[return-value]
