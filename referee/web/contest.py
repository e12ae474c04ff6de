"""HTTP version 1: what a contestant's system talks to."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from dataclasses import asdict
from importlib.metadata import version

import numpy as np
from flask import Blueprint, Response, g, jsonify, request
from numpy.typing import NDArray

from referee.detections import parse_detections
from referee.errors import RefereeError
from referee.live_run import LiveRun
from referee.records import Post, RunState
from referee.web.auth import current_session, issue_token, require_own, require_password
from referee.web.bodies import read_body, read_texts
from referee.web.state import web_state
from referee.window import phase_at, remaining_s

LONGEST_KEY = 200

LONGEST_NUMBER = 12  # digits; no test set is larger
LARGE_BODY_BYTES = 2**20
_large_bodies = threading.Semaphore(1)

blueprint = Blueprint("contest", __name__, url_prefix="/v1")


@blueprint.get("/health")
def health() -> Response:
    """Whether the referee answers, and what contest this is; no login."""
    config = web_state().contest.config
    return jsonify(
        status="ok", contest=config.name, version=version("lpirc-referee"), window_s=config.window_s
    )


@blueprint.post("/session")
def log_in() -> tuple[Response, int]:
    """Open the team's run, or give back the session of the open one."""
    team, password = read_texts("team", "password")
    require_password(team, password)
    state = web_state()
    live = state.control.login(team)
    _follow(live)
    categories = [{"id": one.id, "name": one.name} for one in state.contest.test_set.categories]
    return jsonify(
        token=issue_token(state, live.run),
        run=live.run.id,
        images=live.run.images,
        window_s=live.run.window_s,
        remaining_s=remaining_s(live.window, state.clock.monotonic_s()),
        categories=categories,
    ), 201


@blueprint.get("/session")
def show_session() -> Response:
    """Where the run stands."""
    session, state = current_session(), web_state()
    require_own(session, state.contest.store.run(session.run))
    try:
        live = state.control.live(session.run)
    except RefereeError as error:
        if error.code != "window-closed":
            raise
        return jsonify(_closed_session(session.run))
    _follow(live)
    now_s = state.clock.monotonic_s()
    standing = {
        "run": live.run.id,
        "phase": phase_at(live.window, now_s),
        "remaining_s": remaining_s(live.window, now_s),
        "images_served": live.served_images,
        "detections_accepted": live.received_total,
    }
    return jsonify(standing | _provisional(live.run.id))


def _closed_session(number: int) -> dict[str, object]:
    store = web_state().contest.store
    run = store.run(number)
    return {
        "run": run.id,
        "phase": run.state,
        "remaining_s": 0.0,
        "images_served": len(store.served_images(run.id)),
        "detections_accepted": store.count_detections(run.id),
    } | _provisional(run.id)


def _provisional(run: int) -> dict[str, object]:
    contest = web_state().contest
    if not contest.config.teams_see_score:
        return {}
    provisional = contest.store.provisional(run)
    return {"provisional": None if provisional is None else asdict(provisional)}


@blueprint.delete("/session")
def log_out() -> Response:
    """Close the run and stop its meter; a second time changes nothing."""
    session = current_session()
    require_own(session, web_state().contest.store.run(session.run))
    run = web_state().control.close(session.run, "logout")
    return jsonify(
        run=run.id,
        phase=RunState.VOID if run.state is RunState.VOID else RunState.CLOSED,
        elapsed_s=run.elapsed_s,
        energy_wh=run.energy_wh,
        detections_accepted=web_state().contest.store.count_detections(run.id),
    )


@blueprint.get("/images/<number>")
def image(number: str) -> Response:
    """One JPEG, while the window is open."""
    live = _live_run()
    with live.admit() as at_s:
        wanted = _image_number(number, live)
        jpeg = web_state().images.read(live.testset_number(wanted))
        if request.method == "GET":
            live.note_served(wanted, at_s, len(jpeg))
    return Response(jpeg, mimetype="image/jpeg")


@blueprint.post("/detections")
def detections() -> tuple[Response, int]:
    """Rows of detections; the answer means that they are on disk."""
    session, key = current_session(), _idempotency_key()
    body = read_body()
    try:
        return _receipt(_live_run().take_post(body, key, _parse))
    except RefereeError as error:
        if error.code != "window-closed":
            raise
        # Too late for a new body, but not to be told again that this one was in time.
        require_own(session, web_state().contest.store.run(session.run))
        earlier = web_state().control.receipt(session.run, body, key)
        if earlier is None:
            raise
        return _receipt(earlier)


def _parse(body: bytes) -> NDArray[np.float64]:
    test_set = web_state().contest.test_set
    category_ids = np.array([one.id for one in test_set.categories], dtype=np.int64)
    # Parsing a large body holds the interpreter: one at a time, so that other teams' requests get their turn. The
    # body has been admitted by then, so that waiting here makes nobody late.
    with _large_bodies if len(body) > LARGE_BODY_BYTES else nullcontext():
        kind = request.content_type or "application/json"
        return parse_detections(body, kind, len(test_set.images), category_ids)


def _receipt(post: Post) -> tuple[Response, int]:
    return jsonify(accepted=post.row_count, received_total=post.received_total, sha256=post.sha256), 202


@blueprint.after_request
def tell_remaining(response: Response) -> Response:
    """Within a run, every answer tells how much of the window is left."""
    live: LiveRun | None = g.get("live")
    if live is not None:
        left_s = remaining_s(live.window, web_state().clock.monotonic_s())
        response.headers["X-Window-Remaining-Ms"] = str(int(left_s * 1000))
    return response


def _live_run() -> LiveRun:
    session = current_session()
    live = web_state().control.live(session.run)
    require_own(session, live.run)
    _follow(live)
    return live


def _image_number(text: str, live: LiveRun) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER):
        shown = text if len(text) <= LONGEST_NUMBER else text[:LONGEST_NUMBER] + "..."
        raise RefereeError(
            "image-unknown", f"{shown!r} is no image number; the images are 1 to {live.run.images}."
        )
    return int(text)


def _follow(live: LiveRun) -> None:
    g.live = live


def _idempotency_key() -> str | None:
    key = request.headers.get("Idempotency-Key")
    # The server in front of us hands on an empty text for a header that is not ASCII.
    if key is not None and not 1 <= len(key) <= LONGEST_KEY:
        raise RefereeError("bad-request", f"An Idempotency-Key has 1 to {LONGEST_KEY} ASCII characters.")
    return key
