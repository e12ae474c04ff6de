"""The routes of the contests of 2015 to 2019, on the same runs, stations and store: docs/legacy.md.

A failure gets the status and body that the clients of those years know, or one line of plain text if it did not exist
then.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus

import numpy as np
from flask import Blueprint, Response, request
from flask.blueprints import BlueprintSetupState
from numpy.typing import NDArray

from lpirc_power.errors import MeterError
from lpirc_score.detections.form_body import take_form
from lpirc_score.detections.parsed_rows import NONE_REFUSED, Refused, Taken
from referee.auth.tokens import Session
from referee.errors import (
    DisplayFailed,
    LoginRefused,
    NotArmed,
    NotStarted,
    RefereeError,
    SessionRefused,
    TestSetChanged,
    WindowClosed,
)
from referee.runs.open_run import OpenRun
from referee.store.records import Run, RunState
from referee.web.app_parts import part
from referee.web.callers import Callers, open_run_of, require_own, session_of
from referee.web.contestant import image_batches, single_image
from referee.web.contestant.posted_detections import DETECTIONS_PATH
from referee.web.heard_boards import HeardBoards
from referee.web.http_answers import through_flask
from referee.web.legacy.old_forms import (
    DISPLAYED,
    HELP,
    INVALID_LOGIN,
    INVALID_USER,
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
    form_of,
    has_body,
    image_number,
    lacking,
    multipart_boundary,
    read_form,
    text,
    token_of,
)
from referee.web.legacy.plain_refusals import plain_refusal
from referee.web.problem_documents import note_refusal
from referee.web.refused_requests import Refusals
from referee.web.request_bodies import LARGEST_BODY_BYTES, read_body
from referee.web.request_slots import move_slot, prefer_slot
from referee.web.run_service import RunService
from referee.web.task_answers import require_path
from referee.web.team_login import issue_token, require_password
from referee.web.web_request import present_request

START_TIMEOUT_S = 600.0  # how long a log-in waits for the start signal of its heat
ZIPPED = 100
BOTH = ["GET", "POST"]
WITH_EFFECT = frozenset({"legacy.log_in", "legacy.log_out"})

REASON = "X-Referee-Reason"
"""Header with the sentence of a refusal: the body is that of the original server, which old clients compare."""
URLENCODED = "application/x-www-form-urlencoded"
"""Media type of a form; it is not checked, because some clients send none."""
blueprint = Blueprint("legacy", __name__)


@blueprint.errorhandler(Refusal)
def refused(refusal: Refusal) -> Response:
    """Return a refusal of the original protocol as a response."""
    answer = _logged(text(refusal.body, refusal.status), refusal.__cause__ or refusal)
    return _told(answer, refusal.reason) if refusal.reason else answer


@blueprint.errorhandler(RefereeError)
def failed(error: RefereeError) -> Response:
    """Return the response for a failure: the body that old clients know, or else its sentence."""
    return _logged(through_flask(plain_refusal(request.path, error)), error)


def _logged(answer: Response, reason: BaseException) -> Response:
    """Note the refusal for the operator, and give the caller its sentence unless the fault is this server's."""
    note_refusal(part(Refusals), present_request(), reason, answer.status_code)
    is_callers = answer.status_code < HTTPStatus.INTERNAL_SERVER_ERROR
    if is_callers and isinstance(reason, RefereeError):
        _told(answer, reason.sentence)
    return answer


def _told(answer: Response, sentence: str) -> Response:
    """Give the caller a sentence beside the body."""
    line = "".join(filter(str.isprintable, sentence))
    answer.headers[REASON] = line.encode("ascii", "backslashreplace").decode()
    return answer


@blueprint.after_request
def close_connection(answer: Response) -> Response:
    """Close the connection after the answer unless the client asks to keep it; old clients read until it closes.

    Granian passes on the header, which WSGI leaves to the server.
    """
    if "keep-alive" not in request.headers.get("Connection", "").lower():
        answer.headers["Connection"] = "close"
    return answer


@blueprint.route("/help", methods=BOTH)
def show_help() -> Response:
    """Answer with the list of routes, which is also the connectivity test before a run."""
    return text(HELP)


@blueprint.route("/login", methods=BOTH)
@blueprint.route("/get_token", methods=BOTH)
def log_in() -> Response:
    """Open the team's run, or return to its open run; the answer is the raw token."""
    form = read_form()
    team = form.field("username")
    password = form.field("password")
    if team is None or password is None:
        reason = RefereeError("bad-request", _absent("username", "password"))
        raise Refusal(401, MISSING_LOGIN) from reason
    try:
        require_password(team, password)
        part(HeardBoards).note_log_in(team, request.remote_addr or "")
        slots = part(Callers).control.slots_of(team)
        prefer_slot(present_request(), slots)
        try:
            run = _opened(team).run
        except NotArmed as error:
            run = _last_run(team, error)
    except LoginRefused as error:
        raise Refusal(401, INVALID_LOGIN) from error
    except (MeterError, RefereeError) as error:
        # The only answer of those years that means "not now, the referee is not ready".
        raise Refusal(500, NO_METER) from error
    return text(issue_token(part(Callers), run))


def _last_run(team: str, not_armed: NotArmed) -> Run:
    """Return the team's last run that has ended; raise `not_armed` if there is none.

    The original server returned the token of an ended run at a further log-in, although that token was of no use.
    """
    for run in reversed(part(Callers).contest.store.runs.find(team=team)):
        if run.state in (RunState.CLOSED, RunState.JUDGED):
            return run
    raise not_armed


def _opened(team: str) -> OpenRun:
    """Open the team's run and return it.

    The start of a heat is awaited here, since clients of 2015 to 2019 do not ask again.

    If a team has several log-ins waiting, only the newest goes on: the clients of the earlier ones have given up.
    """
    control = part(Callers).control
    clock = part(Callers).clock
    deadline_s = clock.monotonic_s() + START_TIMEOUT_S
    ticket = None
    while True:
        signals = control.board.signals
        try:
            live = control.login(team, request.remote_addr)
        except NotStarted:
            if clock.monotonic_s() >= deadline_s:
                raise
        else:
            live.know_address(request.remote_addr or "")
            return live
        ticket = ticket or control.board.enter(team)
        if not control.board.wait(team, ticket, signals):
            raise Refusal(500, NO_METER)


@blueprint.route("/verify", methods=BOTH)
def verify() -> Response:
    """Answer whether the token belongs to an open run."""
    _admitted(read_form())
    return text(VALID_TOKEN)


@blueprint.post("/no_of_images")
def count_images() -> Response:
    """Answer with the number of images."""
    form = read_form()
    try:
        return text(str(_admitted(form).run.images))
    except SessionRefused as error:
        if not form.field("token"):
            raise
        raise Refusal(401, INVALID_USER) from error


@blueprint.route("/image", methods=BOTH)
def image() -> Response:
    """Answer with one JPEG while the window is open."""
    form = read_form()
    live = _admitted(form)
    number = image_number(form, live.run.images)
    with _no_image():
        answer = single_image.image_of(
            part(RunService), present_request(), live, number
        )
    return attachment(answer, f"{number}.jpg")


@blueprint.route("/zipimages", methods=BOTH)
def zipped_images() -> Response:
    """Answer with a zip of up to 100 JPEGs, starting at image 1, 101, 201, and so on."""
    form = read_form()
    live = _admitted(form)
    first = image_number(form, live.run.images)
    if first % ZIPPED != 1:
        reason = f"image_name is {first}; a zip begins at image 1, 101, 201, ..."
        raise Refusal(406, OUT_OF_RANGE, reason)
    numbers = range(first, min(first + ZIPPED, live.run.images + 1))
    with _no_image():
        answer = image_batches.batch_of(
            part(RunService), present_request(), live, numbers
        )
    return attachment(answer, f"{first}.zip")


@blueprint.route("/image_camera", methods=BOTH)
def show_image() -> Response:
    """Show an image on the screen of the run's station, and answer once it is shown."""
    form = read_form()
    live = _admitted(form)
    number = image_number(form, live.run.images)
    try:
        with _no_image():
            single_image.show(part(RunService), live, number)
    except DisplayFailed as error:
        raise Refusal(500, NO_DISPLAY) from error
    return text(DISPLAYED)


@blueprint.post("/result")
def result() -> Response:
    """Take rows of detections as parallel lists; the answer means they are on disk. A repeated body counts once."""
    body, session = _read_results()
    boundary = multipart_boundary()
    same = body.replace(b"--" + boundary, b"--")  # curl chooses a new one each time
    key = f"result {hashlib.sha256(same).hexdigest()}"
    content_type = (boundary and request.content_type) or URLENCODED
    answer = text(STORED)
    try:
        live = _live_run(session)
        require_path(live.run, DETECTIONS_PATH)
        read = _FormReader(boundary, live.run.images, part(RunService).category_ids)
        try:
            live.accept(body, key, read, content_type, key_is_of_body=True)
        finally:
            for line, reason, _ in read.refused.first[:1]:
                total = read.refused.total
                rows = "1 row" if total == 1 else f"{total} rows"
                absent = lacking(form_of(body, boundary))
                sentence = f"{rows} refused, line {line}: {reason}{absent}"
                _logged(answer, RefereeError("rows-refused", sentence))
    except WindowClosed:
        # It is too late for a new body, but this one was in time and gets the same answer again.
        if not _was_stored(session, key):
            raise
    return answer


def _read_results() -> tuple[bytes, Session]:
    """Return the body and its session. A bad token in the first 64 KiB is refused before more is read.

    Python 2 clients sent their fields in dict order, so the token may come after the lists.
    """
    if not has_body():
        return b"", _session(None)

    def authenticate(first: bytes) -> None:
        if not multipart_boundary():
            first = first.rpartition(b"&")[0]  # the last field may be cut
        token = token_of(first)
        if token is not None:
            with suppress(WindowClosed):  # the same body may have been stored before
                _live_run(_session(token))

    body = read_body(present_request(), LARGEST_BODY_BYTES, authenticate)
    return body, _session(token_of(body))


@dataclass
class _FormReader:
    """Reads the rows of one form; `refused` are the rows that are not valid."""

    boundary: bytes
    images: int
    category_ids: NDArray[np.int64]
    refused: Refused = NONE_REFUSED

    def __call__(self, body: bytes) -> Taken:
        form = form_of(body, self.boundary)
        rows, self.refused = take_form(form.body, self.images, self.category_ids)
        return rows, self.refused


@blueprint.route("/logout", methods=BOTH)
def log_out() -> Response:
    """Close the run and stop its meter. A repeated log-out changes nothing."""
    callers = part(Callers)
    session = _session(read_form().field("token"))
    run = callers.contest.store.runs.get(session.run)
    require_own(callers, present_request(), session, run)
    callers.control.close(run.id, "logout")
    return text(LOGGED_OUT)


@blueprint.record  # after the routes above: they are registered in this order
def _refuse_head(setup: BlueprintSetupState) -> None:
    """Remove the HEAD method that Flask adds to every GET, from routes where it would open or close a run."""
    for rule in setup.app.url_map.iter_rules():
        if rule.endpoint in WITH_EFFECT and rule.methods is not None:
            rule.methods.discard("HEAD")


def _session(token: str | None) -> Session:
    # A hand-written client may end its body with a newline; the original server ignored it after a token.
    given = (token or "").removesuffix("\r\n")
    if not given:
        raise SessionRefused("token-missing", _absent("token"))
    return session_of(part(Callers), present_request(), given)


def _absent(*names: str) -> str:
    """Return, for the operator's log, which fields a form lacks, and where the client has put them."""
    said = f"The form in the body has no {' or no '.join(names)}"
    if any(name in request.args for name in names):
        return f"{said}; what stands in the address is not read."
    if request.authorization is not None:
        return f"{said}; the header Authorization is not read here."
    if has_body():
        return (
            f"{said}; its fields are read as {names[0]}=..., or as curl -F sends them."
        )
    return f"{said}: the request has no body."


def _live_run(session: Session) -> OpenRun:
    asked = present_request()
    live = open_run_of(part(Callers), asked, session)
    live.know_address(request.remote_addr or "")
    move_slot(asked, live.slots)
    return live


def _admitted(form: Form) -> OpenRun:
    live = _live_run(_session(form.field("token")))
    live.require_open()
    return live


@contextmanager
def _no_image() -> Iterator[None]:
    try:
        yield
    except TestSetChanged as error:
        raise Refusal(500, NO_IMAGE) from error


def _was_stored(session: Session, key: str) -> bool:
    callers = part(Callers)
    store = callers.contest.store
    run = store.runs.get(session.run)
    require_own(callers, present_request(), session, run)
    return store.posts.find(run.id, key) is not None
