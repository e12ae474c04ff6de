"""The replay of any run for the jury, with its images: for operators only."""

from __future__ import annotations

import json

from flask import Blueprint, Response, request

from referee.errors import RefereeError
from referee.judging.replay import has_its_images
from referee.store.records import OVER
from referee.web.app_parts import part
from referee.web.callers import Callers
from referee.web.html_pages import SECURITY_HEADERS, page
from referee.web.http_answers import NOT_TO_BE_KEPT, through_flask
from referee.web.operator.operator_access import require_operator_or_log_in
from referee.web.operator.run_replays import RunReplays
from referee.web.public.kept_answers import answer_of
from referee.web.request_slots import OPERATOR_PATH
from referee.web.run_service import RunService

blueprint = Blueprint(
    "operator-replay", __name__, url_prefix=f"{OPERATOR_PATH}/runs/<int:number>/replay"
)


@blueprint.before_request
def lead_to_log_in() -> Response | None:
    """Redirect the page to the log-in unless an operator asks; refuse document and images."""
    is_page = request.endpoint == "operator-replay.player"
    return require_operator_or_log_in(is_page=is_page)


@blueprint.get("")
def player(number: int) -> Response:
    """Answer with the player of a run, over or not."""
    run = part(Callers).contest.store.runs.get(number)
    base = f"{OPERATOR_PATH}/runs/{number}/replay"
    sources = [{"src": f"{base}/course.json", "pictures": f"{base}/images/"}]
    attributes = {"sources": json.dumps(sources), "keys": "page", "speed": "5"}
    return page(
        "operator/replay.html",
        contest=part(Callers).contest.config.name,
        run=run,
        is_over=run.state in OVER,
        replay_attributes=attributes,
    )


@blueprint.get("/course.json")
def course(number: int) -> Response:
    """Answer with the replay document."""
    run = part(Callers).contest.store.runs.get(number)
    response = through_flask(answer_of(part(RunReplays).document(run), request.environ))
    response.headers.set(*NOT_TO_BE_KEPT)
    return response


@blueprint.get("/images/<int:image>")
def picture(number: int, image: int) -> Response:
    """Answer with the image that the run's team knows by that number."""
    contest = part(Callers).contest
    run = contest.store.runs.get(number)
    if not 1 <= image <= run.images or not has_its_images(contest, run):
        raise RefereeError("image-unknown", f"Run {number} has no image {image} here.")
    order = contest.store.runs.image_order(number)
    jpeg = part(RunService).images.read(int(order[image - 1]))
    response = Response(jpeg, content_type="image/jpeg")
    response.headers |= SECURITY_HEADERS
    response.headers.set(*NOT_TO_BE_KEPT)
    return response
