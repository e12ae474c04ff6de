"""The app that is served until there is a contest: the code, the contest's first step, then the settings' pages."""

from __future__ import annotations

import hmac
import logging
import secrets
import threading
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from flask import Blueprint, Flask, Response, current_app, redirect, request
from werkzeug.exceptions import HTTPException

from lpirc_score.files.atomic_write import write_atomically
from referee.auth import tokens
from referee.auth.operator_names import COMMAND
from referee.auth.passwords import hash_password
from referee.auth.tokens import OperatorSession
from referee.clock import Clock
from referee.config import CONFIG_NAME, config_of
from referee.config.contest_presets import PRESETS, preset_named
from referee.config.contest_text import BACKUP_FOLDER, Answers, config_text
from referee.config.name_rule import name_problem, shown_name
from referee.config.toml_edits import edited
from referee.contest import create_contest, read_secrets
from referee.errors import RefereeError
from referee.presence import is_there
from referee.registration.registered_names import (
    require_operator_name,
    require_password,
)
from referee.served import SETUP_NAME
from referee.store import DATABASE_NAME, Store
from referee.web import html_pages
from referee.web.app_parts import keep_parts, part
from referee.web.arriving_bodies import ArrivingBodies
from referee.web.callers import OPERATOR_COOKIE
from referee.web.gateway import App
from referee.web.html_pages import page
from referee.web.http_answers import (
    NOT_TO_BE_KEPT,
    Environ,
    StartResponse,
    through_flask,
)
from referee.web.listener import Listen
from referee.web.operator.operator_access import GENERATION_BYTES, LIFETIME_S
from referee.web.problem_documents import problem
from referee.web.setup.form_body import Form, present_form
from referee.web.setup.settings_desk import SETTINGS_PATH, SettingsDesk, status_of
from referee.web.setup.setup_access import CodeCheck, SetupCode
from referee.web.setup.step_pages import STEP_PAGES
from referee.web.web_request import HANDED_TO_FLASK, begin_request

SETUP_PATH = "/setup"
SETUP_COOKIE = "referee-setup"
HALL_S = 10
"""Seconds after which the page for the hall is loaded again."""

logger = logging.getLogger(__name__)
blueprint = Blueprint("setup", __name__)


@dataclass
class SettingUp:
    """The set-up under way; `desk` is there once the contest has a name and an operator."""

    folder: Path
    listen: Listen
    code: SetupCode
    check: CodeCheck
    clock: Clock
    desk: SettingsDesk | None = None
    resources: ExitStack = field(default_factory=ExitStack)
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass(frozen=True)
class SetupAccess:
    """Access for the one browser that used the code; it acts in the name of the operator who began."""

    folder: Path
    store: Store
    code: SetupCode
    clock: Clock
    is_setup: bool = True

    def require(self) -> Any:
        """Return None for the browser that used the code, else lead to the page that asks for it."""
        return _elsewhere()

    def who(self) -> dict[str, object]:
        """Return the operator who began the set-up, and the address of the request."""
        return {"operator": self._name(), "address": request.remote_addr}

    def _name(self) -> str:
        with suppress(OSError):
            return (self.folder / SETUP_NAME).read_text(encoding="utf-8")
        return COMMAND

    def csrf(self) -> str:
        """Return the token that a form of this session must bear."""
        return self.code.csrf

    def hand_over(self, response: Response) -> None:
        """Log the browser in at the console, as the operator who began."""
        stored = self.store.operators.password_hashes()
        name = self._name()
        if name not in stored:  # removed again; the browser may still log in
            return
        secret, _ = read_secrets(self.folder)
        drawn = secrets.token_hex(GENERATION_BYTES)
        who = self.who() | {"action": "log-in"}
        with self.store.log.act(self.clock.utc(), None, **who) as under_way:
            generation = self.store.operators.begin_session(name, drawn, under_way)
        expires_s = self.clock.utc().timestamp() + LIFETIME_S
        session = OperatorSession(
            name, tokens.stamp(secret, stored[name]), generation, expires_s
        )
        cookie = tokens.issue_operator(secret, session)
        _set_cookie(response, OPERATOR_COOKIE, cookie)


class SetupGateway:
    """A WSGI app in front of Flask's, so that bodies are watched as they arrive: a silent one holds no thread."""

    def __init__(self, app: App, bodies: ArrivingBodies) -> None:
        self._app = app
        self._bodies = bodies

    def __call__(
        self, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Answer one request."""
        environ[HANDED_TO_FLASK] = begin_request(environ, self._bodies)
        try:
            return self._app(environ, start_response)
        finally:
            del environ[HANDED_TO_FLASK]


def create_setup_app(
    folder: Path, listen: Listen, code: SetupCode, bodies: ArrivingBodies
) -> Flask:
    """Return the app that sets up a contest in `folder`."""
    clock = bodies.clock
    app = Flask("referee", static_folder=None)
    app.url_map.merge_slashes = False
    state = SettingUp(folder, listen, code, CodeCheck(code), clock)
    keep_parts(app, state)
    app.register_blueprint(html_pages.blueprint)
    app.register_blueprint(blueprint)
    for steps in STEP_PAGES:
        app.register_blueprint(steps)
    app.before_request(_require_contest)
    app.register_error_handler(Exception, _refused)
    if is_there(folder / CONFIG_NAME):
        _open(app, state)
    app.wsgi_app = SetupGateway(app.wsgi_app, bodies)  # type: ignore[method-assign]  # Flask's own way
    return app


def _open(app: Flask, state: SettingUp) -> None:
    """Open the contest that has been begun, and keep its desk."""
    store = Store.open(state.folder / DATABASE_NAME)
    state.resources.callback(store.close)
    access = SetupAccess(state.folder, store, state.code, state.clock)
    is_open = not state.listen.is_of_this_machine
    url = state.listen.urls[0]
    state.desk = SettingsDesk(
        state.folder, store, state.clock, access, None, is_open, url
    )
    keep_parts(app, state.desk)


def _is_ours() -> bool:
    return part(SettingUp).code.is_cookie(request.cookies.get(SETUP_COOKIE, ""))


def _elsewhere() -> Any:
    return None if _is_ours() else redirect(f"{SETUP_PATH}/", 303)


def _require_contest() -> Any:
    """Lead from the settings to the first step while there is no contest."""
    if request.path.startswith(SETTINGS_PATH) and part(SettingUp).desk is None:
        return redirect(f"{SETUP_PATH}/contest", 303)
    return None


@blueprint.get("/")
def hall() -> Response:
    """Tell everyone in the hall that the contest is being set up."""
    response = page("setup/not_yet.html", 503)
    response.headers["Refresh"] = str(HALL_S)
    return response


@blueprint.get("/v1/<path:_>")
def not_yet(_: str) -> Response:
    """Refuse the requests of contestants' systems."""
    sentence = "The contest is being set up; send the request again later."
    return through_flask(problem(503, "not-ready", sentence, {"retry_after_s": 5}))


@blueprint.get("/operator/")
def console() -> Any:
    """Lead to the set-up."""
    return redirect(f"{SETUP_PATH}/", 303)


@blueprint.get(f"{SETUP_PATH}/")
def enter() -> Any:
    """Ask for the code, or lead on the browser that has given it."""
    if _is_ours():
        begun = part(SettingUp).desk is not None
        where = f"{SETTINGS_PATH}/rules" if begun else f"{SETUP_PATH}/contest"
        return redirect(where, 303)
    return _asks(request.args.get("code", ""))


def _asks(code: str, error: RefereeError | None = None) -> Response:
    response = page(
        "setup/code.html",
        200 if error is None else status_of(error),
        code=code,
        folder=part(SettingUp).folder.name,
        failure=error and error.sentence,
    )
    response.headers.set(*NOT_TO_BE_KEPT)
    return response


@blueprint.post(f"{SETUP_PATH}/")
def give_code() -> Any:
    """Begin the set-up with the code."""
    state = part(SettingUp)
    given = present_form().text("code")
    try:
        address = request.remote_addr or ""
        state.check.require(given, address, state.clock.monotonic_s())
    except RefereeError as error:
        return _asks(given, error)
    response: Any = redirect(f"{SETUP_PATH}/contest", 303)
    _set_cookie(response, SETUP_COOKIE, state.code.cookie)
    return response


@blueprint.get(f"{SETUP_PATH}/contest")
def contest() -> Any:
    """Ask for the contest's name, its rules and the first operator."""
    elsewhere = _elsewhere()
    if elsewhere is not None:
        return elsewhere
    if part(SettingUp).desk is not None:
        return redirect(f"{SETTINGS_PATH}/rules", 303)
    return _begins()


def _begins(form: Form | None = None, error: RefereeError | None = None) -> Response:
    state = part(SettingUp)
    given = dict.fromkeys(("name", "operator", "preset"), "")
    if form is not None:
        given = {name: form.text(name) for name in given}
    return page(
        "setup/contest.html",
        200 if error is None else status_of(error),
        presets=PRESETS,
        folder=state.folder,
        csrf=state.code.csrf,
        failure=error and error.sentence,
        given=given,
    )


@blueprint.post(f"{SETUP_PATH}/contest")
def begin() -> Any:
    """Make the contest folder with its first operator."""
    elsewhere = _elsewhere()
    if elsewhere is not None:
        return elsewhere
    state = part(SettingUp)
    form = present_form()
    if not hmac.compare_digest(form.text("csrf").encode(), state.code.csrf.encode()):
        return _begins(form, RefereeError("bad-request", "Load this page again."))
    try:
        with state.lock:  # the same browser may have two tabs
            if state.desk is None:
                _make(state, form)
    except RefereeError as error:
        return _begins(form, error)
    return redirect(f"{SETTINGS_PATH}/rules", 303)


def _make(state: SettingUp, form: Form) -> None:
    name = form.text("name")
    operator = form.text("operator")
    password = form.texts.get("password", "")
    odd = name_problem(name)
    if not name or odd is not None:
        what = f"{shown_name(name)} {odd}" if name else "a contest needs one"
        raise RefereeError("bad-request", f"Name of the contest: {what}.")
    require_operator_name(operator)
    require_password(password)
    text = config_text(
        name,
        600,
        "sim:",
        "testset",
        auto_arm=False,
        answers=Answers(backup=BACKUP_FOLDER),
    )
    config = config_of(state.folder / CONFIG_NAME, text)
    for setting in preset_named(form.text("preset")).settings(config):
        text = edited(text, setting)
    try:
        if is_there(state.folder / SETUP_NAME):
            _clear(state.folder)
        write_atomically(state.folder / SETUP_NAME, operator.encode())
        create_contest(state.folder, text)
        (state.folder / BACKUP_FOLDER).mkdir(exist_ok=True)
    except OSError as error:
        sentence = f"{state.folder} cannot be written ({error.strerror}); start the referee with another folder."
        raise RefereeError("not-accessible", sentence) from error
    _open(current_app, state)
    desk = part(SettingsDesk)
    hashed = hash_password(password)
    who = {"operator": operator, "address": request.remote_addr}
    now = state.clock.utc()
    detail = who | {"action": "operator-add", "name": operator}
    with desk.store.log.act(now, None, **detail) as under_way:
        desk.store.operators.add(operator, hashed, now, under_way)


def _clear(folder: Path) -> None:
    """Remove the database of a contest whose making was cut off before it had a contest.toml."""
    for one in folder.glob(f"{DATABASE_NAME}*"):
        one.unlink()


def _set_cookie(response: Any, name: str, value: str) -> None:
    response.set_cookie(
        name,
        value,
        LIFETIME_S,
        httponly=True,
        samesite="Strict",
        secure=request.is_secure,
    )


def _refused(error: Exception) -> Response:
    """Answer with a page that has the sentence of a refusal."""
    if isinstance(error, HTTPException):
        sentence = error.description or error.name
        return page(
            "setup/refused.html",
            error.code or 500,
            sentence=sentence,
            is_setup=True,
            back=f"{SETUP_PATH}/",
        )
    if not isinstance(error, RefereeError):
        logger.error("a request failed", exc_info=error)
        error = RefereeError(
            "internal", "The set-up failed; the terminal has the reason."
        )
    return page(
        "setup/refused.html",
        status_of(error),
        sentence=error.sentence,
        is_setup=True,
        back=f"{SETUP_PATH}/",
    )
