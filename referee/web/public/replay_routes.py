"""Replays for everyone: of published runs, one or two on one clock, and on the projector one after the other."""

from __future__ import annotations

import json
from typing import Any

from flask import Blueprint, Response, jsonify, request

from referee.web.app_parts import part
from referee.web.html_pages import SECURITY_HEADERS, page
from referee.web.http_answers import through_flask
from referee.web.public.kept_answers import answer_of
from referee.web.published_board import PublishedBoard
from referee.web.published_replays import PublishedReplays

PATH = "/replay"
PLAYLIST = f"{PATH}/runs.json"
HALL_SPEED = "20"
BOARD_AND_REPLAYS = "/?view=projector&turn=replays"
PICTURE_CACHING = "public, max-age=600"

blueprint = Blueprint("replay", __name__, url_prefix=PATH)


@blueprint.get("")
def listed() -> Response:
    """Answer with the list of replays; `?view=projector` plays them one after the other on a whole screen.

    With `turn=board` it plays the first of them, the newest heat, and leads back to the board on the projector.
    """
    if request.args.get("view") != "projector":
        return _page({})
    empty = "No replay to show yet."
    attributes = {"playlist": PLAYLIST, "speed": HALL_SPEED, "empty": empty}
    if request.args.get("turn") == "board":
        attributes["then"] = BOARD_AND_REPLAYS
    return page(
        "public/replay_hall.html",
        contest=_contest_name(),
        replay_attributes=attributes,
        theme="dark",
    )


@blueprint.get("/<int:run>")
def of_run(run: int) -> Response:
    """Answer with the player of a run."""
    part(PublishedReplays).version(run)
    return _page(_playing(run))


@blueprint.get("/<int:number>/<int:run>")
def of_two(number: int, run: int) -> Response:
    """Answer with the player of two runs, beside each other on one clock."""
    for one in (number, run):
        part(PublishedReplays).version(one)
    return _page(_playing(number, run))


@blueprint.get("/runs.json")
def playlist() -> Response:
    """Answer with the runs that have a replay, and what the projector plays.

    It plays the runs of the newest heat together, or without one the first two; then each alone.
    """
    replays = part(PublishedReplays)
    places = replays.places()
    runs = [_listed(place) for place in places.values()]
    items = [_sources(run) for run in places]
    if len(items) > 1:
        items.insert(0, _sources(*(replays.latest_pair() or [*places][:2])))
    return jsonify(runs=runs, items=items)


@blueprint.get("/<int:run>/course.json")
def course(run: int) -> Response:
    """Answer with the public document of a replay."""
    replays = part(PublishedReplays)
    kept = replays.document(replays.version(run))
    return through_flask(answer_of(kept, request.environ))


@blueprint.get("/<int:run>/images/<int:image>")
def picture(run: int, image: int) -> Response:
    """Answer with a small picture, once the images may be public."""
    jpeg = part(PublishedReplays).picture(run, image)
    response = Response(jpeg, content_type="image/jpeg")
    response.headers |= SECURITY_HEADERS
    response.headers["Cache-Control"] = PICTURE_CACHING
    return response


def _listed(place: dict[str, Any]) -> dict[str, Any]:
    names = ("run", "team", "rank", "score")
    return {name: place[name] for name in names}


def _sources(*runs: int) -> list[dict[str, str]]:
    return [
        {
            "src": f"{PATH}/{run}/course.json",
            "pictures": f"{PATH}/{run}/images/",
        }
        for run in runs
    ]


def _playing(*runs: int) -> dict[str, str]:
    return {"sources": json.dumps(_sources(*runs)), "keys": "page", "speed": "5"}


def _page(attributes: dict[str, str]) -> Response:
    replays: list[dict[str, Any]] = [*part(PublishedReplays).places().values()]
    return page(
        "public/replay.html",
        contest=_contest_name(),
        replays=replays,
        replay_attributes=attributes,
    )


def _contest_name() -> str:
    return part(PublishedBoard).contest.config.name
