"""HTTP version 1: the routes that a contestant's system uses."""

from __future__ import annotations

from dataclasses import asdict
from functools import cache
from importlib.resources import files

from flask import Blueprint, Response, jsonify, request

from referee.errors import WindowClosed
from referee.judging.contest_status import program_version
from referee.judging.jury_decisions import is_published
from referee.judging.released_figures import released_document
from referee.runs.open_run import OpenRun
from referee.runs.run_window import Phase, phase_at, remaining_s
from referee.store.records import Run, RunState
from referee.web.app_parts import part
from referee.web.callers import Callers, open_run_of, own_run_of
from referee.web.closing_receipt import closing_receipt
from referee.web.contestant import image_batches, posted_detections, single_image
from referee.web.heard_boards import HeardBoards
from referee.web.http_answers import through_flask
from referee.web.published_board import PublishedBoard
from referee.web.request_bodies import read_texts
from referee.web.request_slots import prefer_slot
from referee.web.run_service import RunService
from referee.web.task_answers import told_task
from referee.web.team_login import issue_token, require_password
from referee.web.web_request import present_request

CLOSING = "closing"
blueprint = Blueprint("contest", __name__, url_prefix="/v1")


@blueprint.get("/health")
def health() -> Response:
    """Answer that the referee is running, and for which contest. No log-in is needed."""
    contest = part(Callers).contest
    config = contest.config
    images = config.images.per_attempt or len(contest.test_set.images)
    about: dict[str, object] = {
        "contest": config.name,
        "version": program_version(),
        "window_s": config.window_s,
    }
    about |= told_task(config.task)
    return jsonify(status="ok", categories=_categories(), images=images, **about)


@blueprint.post("/session")
def log_in() -> tuple[Response, int]:
    """Open the team's run, or return the session of its open run."""
    team, password = read_texts("team", "password")
    require_password(team, password)
    part(HeardBoards).note_log_in(team, request.remote_addr or "")
    callers = part(Callers)
    asked = present_request()
    prefer_slot(asked, callers.control.slots_of(team))
    live = callers.control.login(team, request.remote_addr)
    live.know_address(request.remote_addr or "")
    asked.live = live
    return jsonify(
        token=issue_token(callers, live.run),
        run=live.run.id,
        images=live.run.images,
        window_s=live.run.window_s,
        remaining_s=remaining_s(live.window, callers.clock.monotonic_s()),
        categories=_categories(),
        **_rules(live.run),
        **told_task(live.run.task),
    ), 201


def _rules(run: Run) -> dict[str, object]:
    """Return a run's rules, which its receipts cover; null for a run of an earlier version, which has none."""
    if run.rules is None:
        return {"rules": None, "rules_sha256": None}
    return {"rules": run.rules.stated, "rules_sha256": run.rules.sha256}


def _categories() -> list[dict[str, object]]:
    return [asdict(one) for one in part(Callers).contest.test_set.categories]


@blueprint.get("/session")
def show_session() -> Response:
    """Answer with the state of the run."""
    callers = part(Callers)
    asked = present_request()
    try:
        live = open_run_of(callers, asked)
    except WindowClosed:
        return jsonify(_closed_session(own_run_of(callers, asked)))
    now_s = callers.clock.monotonic_s()
    standing = {
        "run": live.run.id,
        "phase": _phase_of(live, now_s),
        "remaining_s": remaining_s(live.window, now_s),
        "images_served": live.served_images,
        "detections_accepted": live.received_total,
    }
    told = _rules(live.run) | told_task(live.run.task)
    return jsonify(standing | told | _provisional(live.run))


def _phase_of(live: OpenRun, now_s: float) -> str:
    """Return the phase; it is `closed` only once the closing receipt exists, so that a client need not ask again."""
    phase = phase_at(live.window, now_s)
    return CLOSING if phase is Phase.CLOSED else phase


def _closed_session(run: Run) -> dict[str, object]:
    contest = part(Callers).contest
    store = contest.store
    phase: str = run.state
    is_hidden = part(PublishedBoard).is_frozen() or not is_published(contest, run.id)
    if run.state is RunState.JUDGED and is_hidden:
        phase = RunState.CLOSED
    elif run.state is RunState.OPEN:
        phase = CLOSING  # no server has taken it up, so it has no closing receipt
    return {
        "run": run.id,
        "phase": phase,
        "remaining_s": 0.0,
        "images_served": len(store.served.images(run.id)),
        "detections_accepted": store.posts.count_detections(run.id),
    } | (
        _rules(run) | closing_receipt(part(Callers).contest, run.id) | _provisional(run)
    )


def _provisional(found: Run) -> dict[str, object]:
    callers = part(Callers)
    contest = callers.contest
    now = callers.clock.utc()
    if not contest.config.teams_see_score:
        return {}
    if part(PublishedBoard).is_frozen():
        return {"provisional": None}
    run = contest.store.runs.get(found.id)
    return {"provisional": released_document(contest, run, now)}


@blueprint.delete("/session")
def log_out() -> Response:
    """Close the run and stop its meter. A repeated log-out changes nothing.

    The energy is a result: a frozen board hides it.
    """
    callers = part(Callers)
    own = own_run_of(callers, present_request())
    run = callers.control.close(own.id, "logout")
    is_hidden = part(PublishedBoard).is_frozen()
    return jsonify(
        run=run.id,
        phase=RunState.VOID if run.state is RunState.VOID else RunState.CLOSED,
        elapsed_s=run.elapsed_s,
        energy_wh=None if is_hidden else run.energy_wh,
        detections_accepted=callers.contest.store.posts.count_detections(run.id),
        **closing_receipt(part(Callers).contest, run.id),
    )


@blueprint.get("/images/<number>")
def image(number: str) -> Response:
    """Answer with one JPEG while the window is open; the gateway in front of Flask calls the same function."""
    del number  # it is read from the path
    return through_flask(single_image.image(part(RunService), present_request()))


@blueprint.get("/images")
def batch() -> Response:
    """Answer with several images as one zip; the gateway in front of Flask calls the same function."""
    return through_flask(image_batches.batch(part(RunService), present_request()))


@blueprint.put("/display/<number>")
def show_image(number: str) -> Response:
    """Show an image on the screen of the run's station (camera track), and answer once the screen shows it."""
    service = part(RunService)
    live = open_run_of(service.callers, present_request())
    image_number = single_image.image_number(number, live)
    single_image.show(service, live, image_number)
    return jsonify(run=live.run.id, image=image_number)


@blueprint.get("/openapi.json")
def openapi() -> Response:
    """Answer with the OpenAPI 3.1 document beside this module; tests check the server against it."""
    return Response(_openapi_document(), content_type="application/json")


@cache
def _openapi_document() -> bytes:
    return files(__package__).joinpath("openapi.json").read_bytes()


@blueprint.post("/detections")
def post_detections() -> Response:
    """Take rows of detections; the answer means that they are on disk. The gateway calls the same function."""
    return through_flask(posted_detections.post(part(RunService), present_request()))


@blueprint.post("/answers")
def post_answers() -> Response:
    """Take answers of a task other than boxes; the gateway calls the same function as for detections."""
    return through_flask(posted_detections.post(part(RunService), present_request()))
