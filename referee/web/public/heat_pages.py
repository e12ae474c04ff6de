"""The public pages of heats, `/heats` and `/heats/NAME`, and their changing parts; from the published row alone."""

from __future__ import annotations

from flask import Blueprint, Response, request

from referee.errors import RefereeError
from referee.judging.heat_race import race_of_board
from referee.judging.replay_release import heat_pair, published_places
from referee.pages.figure_text import heat_text
from referee.store.records import Published
from referee.web.app_parts import part
from referee.web.html_pages import page, rendered
from referee.web.http_answers import Answer, through_flask
from referee.web.made_once import made_once
from referee.web.public.kept_answers import Kept, answer_of, keep
from referee.web.public.shown_board import document_of, is_old, remaining_s
from referee.web.published_board import PublishedBoard
from referee.web.web_request import WebRequest, present_request

LIVE_PATH = "/live/heats"
LIVE_PREFIX = LIVE_PATH + "/"
HTML = "text/html; charset=utf-8"
PROJECTOR = {"view": "projector", "theme": "dark"}

blueprint = Blueprint("heats", __name__)


@blueprint.get("/heats")
def all_heats() -> Response:
    """Answer with all heats and the standings of their rounds; `?view=projector` fills a screen."""
    board = part(PublishedBoard)
    live = _standings_part(board.row())
    return _page("public/heats.html", LIVE_PATH, live, "Heats")


@blueprint.get("/heats/<path:name>")
def one_heat(name: str) -> Response:
    """Answer with a heat: its race while it runs, its result once it is decided; `?view=projector` fills a screen.

    Raises RefereeError `heat-unknown`.
    """
    board = part(PublishedBoard)
    row = board.row()
    live = _race_part(row, name, old=is_old(board, row))
    return _page("public/heats.html", LIVE_PREFIX + name, live, heat_text(name))


def _page(template: str, path: str, live: str, title: str) -> Response:
    is_projector = request.args.get("view") == "projector"
    hall = PROJECTOR if is_projector else {"view": ""}
    contest = part(PublishedBoard).contest.config.name
    return page(
        template, 200, live=live, path=path, title=title, contest=contest, **hall
    )


def standings_part(board: PublishedBoard, asked: WebRequest) -> Answer:
    """Answer GET or HEAD of /live/heats with the changing part of the page of all heats."""
    return answer_of(_kept_standings(board.row()), asked.environ)


def race_part(board: PublishedBoard, asked: WebRequest) -> Answer:
    """Answer GET or HEAD of /live/heats/NAME with the changing part of the page of a heat."""
    path = asked.environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")
    name = path.removeprefix(LIVE_PREFIX)
    row = board.row()
    return answer_of(_kept_race(row, name, old=is_old(board, row)), asked.environ)


@blueprint.get(LIVE_PATH)
def standings_part_route() -> Response:
    """Answer with `standings_part` through Flask."""
    return through_flask(standings_part(part(PublishedBoard), present_request()))


@blueprint.get(LIVE_PREFIX + "<path:name>")
def race_part_route(name: str) -> Response:
    """Answer with `race_part` through Flask."""
    del name  # it is read from the path
    return through_flask(race_part(part(PublishedBoard), present_request()))


@made_once(4)
def _kept_standings(row: Published) -> Kept:
    return keep(_standings_part(row), HTML)


@made_once(32)
def _kept_race(row: Published, name: str, *, old: bool) -> Kept:
    return keep(_race_part(row, name, old=old), HTML)


@made_once(4)
def _standings_part(row: Published) -> str:
    board = document_of(row, is_old=False)
    running = {run["heat"] for run in board["now"] if run["heat"]}
    by_name = {heat["name"]: heat for heat in board["heats"]}
    newest_first = reversed(board["heats"])
    rounds = board["tournament"]["rounds"] if board["tournament"] else []
    in_rounds = {name for one in rounds for name in one["heats"]}
    return rendered(
        "heats/standings.html",
        board=board,
        running=running,
        by_name=by_name,
        rest=[heat for heat in newest_first if heat["name"] not in in_rounds],
        unlisted=sorted(running - by_name.keys()),
    )


@made_once(32)
def _race_part(row: Published, name: str, *, old: bool) -> str:
    board = document_of(row, is_old=old)
    race = race_of_board(board, name)
    if race is None:
        sentence = f"There is no heat {name!r}; /heats lists those that there are."
        raise RefereeError("heat-unknown", sentence)
    made = (heat for heat in board["heats"] if heat["name"] == name)
    race["replay"] = next((heat_pair(heat, published_places(row)) for heat in made), ())
    left = [
        remaining_s(run, board["utc"]) for run in board["now"] if run["heat"] == name
    ]
    race["remaining_s"] = max((one for one in left if one is not None), default=None)
    return rendered(
        "heats/race.html",
        race=race,
        state=board["state"],
        rough=True,
        contest=board["contest"],
    )
