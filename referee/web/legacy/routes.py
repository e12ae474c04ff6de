"""The routes of the contests of 2015 to 2019, byte for byte, on the same runs, stations and store: docs/legacy.md.

Whatever goes wrong is told with a status and a body that the clients of those years know; the few failures that had
none then get one line of plain text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from flask import Blueprint, Response, request
from flask.blueprints import BlueprintSetupState
from numpy.typing import NDArray

from power.errors import MeterError
from referee.auth.tokens import Session
from referee.detections import check_rows, parse_form
from referee.errors import RefereeError
from referee.runs.open_run import LiveRun
from referee.web.auth import issue_token, require_password
from referee.web.bodies import TRANSFER
from referee.web.contestant import images as image_answers
from referee.web.contestant.detections import turn_of
from referee.web.legacy.answers import (
    HELP,
    INVALID_INDEX,
    INVALID_LOGIN,
    INVALID_TOKEN,
    INVALID_USER,
    LENGTH_MISMATCH,
    LOGGED_OUT,
    MISSING_LOGIN,
    NO_DISPLAY,
    NO_IMAGE,
    NO_METER,
    OUT_OF_RANGE,
    STORED,
    VALID_TOKEN,
    Form,
    Refusal,
    attachment,
    read_form,
    read_results,
    text,
)
from referee.web.problems import STATUS_OF_CODE, facts_of
from referee.web.sessions import follow, require_own
from referee.web.state import WebState, web_state

START_PATIENCE_S = 600.0  # how long a log-in waits for the start signal of its heat
ZIPPED = 100
NO_LOGIN = frozenset({"bad-credentials", "too-many-failures", "wrong-address"})
NO_SESSION = frozenset(
    {
        *("token-missing", "bad-token", "token-expired"),
        *("not-your-run", "wrong-address", "run-unknown", "window-closed"),
    }
)
BOTH = ["GET", "POST"]
WITH_EFFECT = frozenset({"legacy.log_in", "legacy.log_out"})

blueprint = Blueprint("legacy", __name__)


@blueprint.errorhandler(Refusal)
def refused(refusal: Refusal) -> Response:
    """An answer of the original protocol."""
    return text(refusal.body, refusal.status)


@blueprint.errorhandler(RefereeError)
def failed(error: RefereeError) -> Response:
    """A failure by the body that the old clients know, or else in a sentence."""
    if error.code in NO_SESSION:
        return text(INVALID_TOKEN, 401)
    if error.code == "length-mismatch":
        return text(LENGTH_MISMATCH, 406)
    if error.code == "bad-rows":
        return text(f"{error.sentence}\n", 406)
    answer, facts = text(f"{error.sentence}\n", STATUS_OF_CODE.get(error.code, 500)), facts_of(error)
    if "retry_after_s" in facts:
        answer.headers["Retry-After"] = str(facts["retry_after_s"])
    return answer


@blueprint.route("/", methods=BOTH)
@blueprint.route("/help", methods=BOTH)
def show_help() -> Response:
    """The routes: the connectivity test before a run."""
    return text(HELP)


@blueprint.route("/login", methods=BOTH)
@blueprint.route("/get_token", methods=BOTH)
def log_in() -> Response:
    """Open the team's run, or give back the session of the open one: the raw token."""
    form = read_form()
    team, password = form.field("username"), form.field("password")
    if team is None or password is None:
        raise Refusal(401, MISSING_LOGIN)
    try:
        require_password(team, password)
        live = _opened(team)
    except MeterError as error:
        raise Refusal(500, NO_METER) from error
    except RefereeError as error:
        # The one answer of those years that means: not now, the referee's side is not ready.
        raise (Refusal(401, INVALID_LOGIN) if error.code in NO_LOGIN else Refusal(500, NO_METER)) from error
    return text(issue_token(web_state(), live.run))


def _opened(team: str) -> LiveRun:
    """The team's run, opened; one of a heat after its signal, for which a client of those years cannot be told to wait.

    Of several log-ins of a team only the newest waits: the others' clients have given up.
    """
    control, clock = web_state().control, web_state().clock
    deadline_s, ticket = clock.monotonic_s() + START_PATIENCE_S, None
    while True:
        signals = control.board.signals
        try:
            return control.login(team, request.remote_addr)
        except RefereeError as error:
            if error.code != "not-started" or clock.monotonic_s() >= deadline_s:
                raise
        ticket = ticket or control.board.enter(team)
        if not control.board.wait(team, ticket, signals):
            raise Refusal(500, NO_METER)


@blueprint.route("/verify", methods=BOTH)
def verify() -> Response:
    """Whether the token is that of an open run."""
    _admitted(read_form())
    return text(VALID_TOKEN)


@blueprint.post("/no_of_images")
def count_images() -> Response:
    """How many images there are."""
    form = read_form()
    try:
        return text(str(_admitted(form).run.images))
    except RefereeError as error:
        if error.code not in NO_SESSION or not form.field("token"):
            raise
        raise Refusal(401, INVALID_USER) from error


@blueprint.route("/image", methods=BOTH)
def image() -> Response:
    """One JPEG, while the window is open."""
    form = read_form()
    live = _admitted(form)
    number = _index(form, live)
    with _no_image():
        answer = image_answers.image_of(web_state(), request.environ, live, number)
    return attachment(answer, f"{number}.jpg")


@blueprint.route("/zipimages", methods=BOTH)
def zipped_images() -> Response:
    """Up to 100 JPEGs from 1, 101, 201, ..."""
    form = read_form()
    live = _admitted(form)
    first = _index(form, live)
    if first % ZIPPED != 1:
        raise Refusal(406, OUT_OF_RANGE)
    numbers = range(first, min(first + ZIPPED, live.run.images + 1))
    with _no_image():
        answer = image_answers.batch_of(web_state(), request.environ, live, numbers)
    return attachment(answer, f"{first}.zip")


@blueprint.route("/image_camera", methods=BOTH)
def show_image() -> Response:
    """Show an image on the contest's screen: none is attached to this referee."""
    form = read_form()
    _index(form, _admitted(form))
    raise Refusal(500, NO_DISPLAY)


@blueprint.post("/result")
def result() -> Response:
    """Rows of detections as parallel lists; the answer means that they are on disk. The same body counts once."""
    form = read_results(_run_in)
    session = _session(form)
    key = f"result {hashlib.sha256(form.body).hexdigest()}"
    try:
        live, state = _live_run(session), web_state()
        live.take_post(form.body, key, lambda body: _rows(state, live, body))
    except RefereeError as error:
        # Too late for a new body, but not to be told again that this one was in time.
        if error.code != "window-closed" or not _was_stored(session, form.body, key):
            raise
    return text(STORED)


@blueprint.route("/logout", methods=BOTH)
def log_out() -> Response:
    """Close the run and stop its meter; a second time changes nothing."""
    session = _session(read_form())
    run = web_state().contest.store.run(session.run)
    require_own(web_state(), request.environ, session, run)
    web_state().control.close(run.id, "logout")
    return text(LOGGED_OUT)


@blueprint.record  # after the routes above: they are registered in this order
def _refuse_head(setup: BlueprintSetupState) -> None:
    """Take back the HEAD that Flask adds to every GET, where it would open or close a run."""
    for rule in setup.app.url_map.iter_rules():
        if rule.endpoint in WITH_EFFECT and rule.methods is not None:
            rule.methods.discard("HEAD")


def _session(form: Form) -> Session:
    token = form.field("token") or ""
    return web_state().tokens.session(f"Bearer {token}", web_state().clock.utc().timestamp())


def _live_run(session: Session) -> LiveRun:
    live = _run_of(session)
    follow(request.environ, live)
    transfer = request.environ.get(TRANSFER)
    if transfer is not None:
        web_state().transfers.charge(transfer, live.run.id)
    return live


def _run_of(session: Session) -> LiveRun:
    live = web_state().control.live(session.run)
    require_own(web_state(), request.environ, session, live.run)
    return live


def _run_in(first: bytes) -> int | None:
    """The open run whose token a large form begins with, so that it need not be taken on a stranger's account."""
    try:
        return _run_of(_session(Form(first))).run.id
    except RefereeError:
        return None  # or the token comes later


def _admitted(form: Form) -> LiveRun:
    live = _live_run(_session(form))
    live.serve(())
    return live


def _index(form: Form, live: LiveRun) -> int:
    name = form.field("image_name") or ""
    if not (name.isascii() and name.isdigit()):
        raise Refusal(406, INVALID_INDEX)
    number = int(name[-image_answers.LONGEST_NUMBER :])
    if len(name.lstrip("0")) > image_answers.LONGEST_NUMBER or not 1 <= number <= live.run.images:
        raise Refusal(406, OUT_OF_RANGE)
    return number


@contextmanager
def _no_image() -> Iterator[None]:
    try:
        yield
    except RefereeError as error:
        if error.code != "testset-changed":
            raise
        raise Refusal(500, NO_IMAGE) from error


def _rows(state: WebState, live: LiveRun, body: bytes) -> NDArray[np.float64]:
    with turn_of(state, live, body):
        # The clients of 2015 sent inverted boxes, one in thirty; they were stored, and matched nothing.
        images = len(state.contest.test_set.images)
        return check_rows(parse_form(body), images, state.category_ids, inverted_boxes=True)


def _was_stored(session: Session, body: bytes, key: str) -> bool:
    run = web_state().contest.store.run(session.run)
    require_own(web_state(), request.environ, session, run)
    return web_state().control.receipt(run.id, body, key) is not None
