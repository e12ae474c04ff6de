"""The public page of a team: its attempts over time, made from the published row alone."""

from __future__ import annotations

from datetime import datetime
from typing import Any, NamedTuple

from flask import Blueprint, Response, request

from referee.errors import RefereeError
from referee.judging.freeze import public_view
from referee.pages.team_address import TEAMS, team_address
from referee.store.records import Published
from referee.web.app_parts import part
from referee.web.html_pages import page, rendered
from referee.web.http_answers import through_flask
from referee.web.made_once import made_once
from referee.web.public.kept_answers import Kept, answer_of, keep
from referee.web.published_board import PublishedBoard

WIDTH = 640.0
HEIGHT = 200.0
MARGIN = 12.0
LIVE = "live"
SHOWN = ("contest", "state", "attempts_each", "ranked_by")
"""What a team's page shows of the board."""
KEPT = 256
"""Teams whose newest page is kept in memory."""
NO_SUCH_TEAM = "The board has no team of that name. The board, /, leads to each team."
NO_NAME = f"The address of a team's page ends in its name: {TEAMS}NAME. The board, /, leads to each."

blueprint = Blueprint("public-team", __name__)


class Point(NamedTuple):
    """An attempt in the picture of a team's scores; `is_ranked` is False if it has no rank of its own."""

    x: float
    y: float
    run: int
    is_ranked: bool


@blueprint.get(TEAMS)
def by_name() -> Response:
    """Answer with the page of the team `name` in the query, for names that make no path."""
    return show(request.args.get("name", ""))


@blueprint.get(f"{TEAMS}<path:team>")
def show(team: str) -> Response:
    """Answer with the public page of a team; `part=live` in the query asks for its changing part."""
    row = part(PublishedBoard).row()
    if request.args.get("part") == LIVE:
        return through_flask(answer_of(_kept(row, team), request.environ))
    address = team_address(team)
    follow = "&" if "?" in address else "?"
    return page(
        "public/team.html",
        team=team,
        contest=part(PublishedBoard).contest.config.name,
        live=_fragment(row, team),
        live_address=f"{address}{follow}part={LIVE}",
    )


@made_once(KEPT)
def _kept(row: Published, team: str) -> Kept:
    return keep(_fragment(row, team), "text/html; charset=utf-8")


@made_once(KEPT)
def _fragment(row: Published, team: str) -> str:
    """Return the changing part of a team's page. Raises RefereeError `team-unknown`."""
    board = public_view(row)
    found = board["teams"].get(team)
    if found is None:
        raise RefereeError("team-unknown", NO_SUCH_TEAM if team else NO_NAME)
    attempts = found["attempts"]
    return rendered(
        "public/team_live.html",
        team=team,
        affiliation=found["affiliation"],
        attempts=list(reversed(attempts)),
        board={key: board.get(key) for key in SHOWN},
        points=course(attempts),
        size=(WIDTH, HEIGHT, MARGIN),
    )


def course(attempts: list[dict[str, Any]]) -> list[Point]:
    """Return the scores of the attempts over the time at which they opened, as points of a picture."""
    scored = [one for one in attempts if one.get("score") is not None]
    if not scored:
        return []
    times = [datetime.fromisoformat(one["utc"]).timestamp() for one in scored]
    first = min(times)
    length = (max(times) - first) or 1.0
    highest = max(one["score"] for one in scored) or 1.0
    inner_width = WIDTH - 2 * MARGIN
    inner_height = HEIGHT - 2 * MARGIN
    points = []
    for one, time in zip(scored, times, strict=True):
        x = MARGIN + inner_width * (time - first) / length
        y = HEIGHT - MARGIN - inner_height * one["score"] / highest
        is_ranked = "not_ranked" not in one
        points.append(Point(round(x, 1), round(y, 1), one["run"], is_ranked))
    return points
