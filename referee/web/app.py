"""The app factory: receives finished objects and registers the blueprints; importing it does nothing."""

from __future__ import annotations

import threading
from http import HTTPStatus

from flask import Flask, Response, request

from referee.auth.passwords import decoy_hash
from referee.clock import Clock
from referee.contest import Contest
from referee.runs.camera_screens import Screens
from referee.runs.run_control import RunControl
from referee.web import html_pages, problem_documents
from referee.web.app_parts import keep_parts, part
from referee.web.arriving_bodies import ArrivingBodies
from referee.web.automatic_judging import AutomaticJudging
from referee.web.callers import REMAINING, Callers, remaining_ms
from referee.web.concurrency_limits import limits_of
from referee.web.config_watch import ConfigWatch
from referee.web.contestant import session_routes as contest_routes
from referee.web.gateway import Gateway, answer_to_silence
from referee.web.heard_boards import HeardBoards
from referee.web.http_answers import NOT_TO_BE_KEPT
from referee.web.image_files import ImageFiles
from referee.web.journal_watch import JournalWatch
from referee.web.judge_process import Judging
from referee.web.legacy import old_routes as legacy_routes
from referee.web.listener import Listen
from referee.web.live_status import LiveStatus
from referee.web.operator import (
    board_routes,
    ceremony,
    console,
    day_routes,
    decision_routes,
    heat_page,
    heat_routes,
    jury_routes,
    operator_access,
    question_routes,
    replay_pages,
    site_routes,
)
from referee.web.operator import run_routes as operator_routes
from referee.web.operator.operators_desk import OperatorsDesk
from referee.web.operator.run_replays import RunReplays
from referee.web.operator.settings_hall import settings_desk
from referee.web.plugged_pages import plug_pages
from referee.web.public import board_pages as public_board
from referee.web.public import (
    client_pages,
    document_pages,
    heat_pages,
    log_links,
    projector,
    public_team,
)
from referee.web.public import replay_routes as public_replays
from referee.web.public import station_display as display_routes
from referee.web.public.log_links import PublicLinks
from referee.web.published_board import PublishedBoard
from referee.web.published_replays import PublishedReplays
from referee.web.refused_requests import Refusals
from referee.web.run_service import RunService
from referee.web.server_watches import ServerWatches
from referee.web.setup.step_pages import STEP_PAGES
from referee.web.team import questions, team_access, team_pages, team_reports
from referee.web.team.receipt_pages import ReceiptPages
from referee.web.team.team_desk import TeamsDesk
from referee.web.team_login import TeamLogIns
from referee.web.web_request import present_request

ROUTES = (
    contest_routes,
    team_access,
    team_pages,
    questions,
    team_reports,
    operator_access,
    operator_routes,
    day_routes,
    decision_routes,
    heat_routes,
    heat_page,
    board_routes,
    question_routes,
    console,
    jury_routes,
    ceremony,
    site_routes,
    legacy_routes,
    html_pages,
    display_routes,
    public_board,
    log_links,
    heat_pages,
    projector,
    public_replays,
    replay_pages,
    public_team,
    document_pages,
    client_pages,
)
"""The modules with a blueprint."""


def create_app(
    contest: Contest, control: RunControl, clock: Clock, listen: Listen | None = None
) -> Flask:
    """Return the WSGI app that serves `contest` at `listen`; `control` owns its runs."""
    app = Flask("referee", static_folder=None)
    app.url_map.merge_slashes = False  # else it redirects to the header Host
    app.json.sort_keys = False  # type: ignore[attr-defined]
    callers = Callers(contest, control, clock)
    config = contest.config
    html_pages.speak_of(config.task)
    limits = limits_of(one.name for one in config.stations if one.clients)
    images = ImageFiles(contest.test_set)
    board = PublishedBoard(contest, clock)
    screens = Screens(clock)
    service = RunService(callers, limits, contest.test_set, images, screens, board)
    refusals = Refusals(contest.store, clock)
    bodies = ArrivingBodies(clock, answer_to_silence)
    config_watch = ConfigWatch(contest.folder, config)
    journal_watch = JournalWatch(contest, clock)
    judging = Judging(contest.folder, contest.store, clock)
    boards = HeardBoards(config.stations, clock)
    status = LiveStatus(
        contest, control, clock, judging, config_watch, journal_watch, boards
    )
    desk = OperatorsDesk(callers, config_watch, judging, status)
    auto = AutomaticJudging(contest, judging)
    watches = ServerWatches(refusals, bodies, config_watch, journal_watch, auto, board)
    keep_parts(app, callers, limits, service, board, refusals, desk, watches)
    keep_parts(app, TeamLogIns(), boards, settings_desk(callers, judging, listen))
    keep_parts(app, PublishedReplays(board, images), RunReplays(contest))
    keep_parts(app, PublicLinks(board))
    keep_parts(app, TeamsDesk(callers, board), ReceiptPages(contest))
    for routes in ROUTES:
        app.register_blueprint(routes.blueprint)
    for steps in STEP_PAGES:
        app.register_blueprint(steps)
    keep_parts(
        app, plug_pages(app, contest, clock)
    )  # last, so that no plug-in replaces our pages
    problem_documents.register(app)
    app.after_request(_finish)
    app.wsgi_app = Gateway(  # type: ignore[method-assign]  # Flask's own way
        app.wsgi_app, service, board, refusals, bodies, boards, config.trusted_proxy
    )
    # Made now, so that the first guess takes no longer than others; in a thread, so that no open run waits.
    threading.Thread(target=decoy_hash, name="decoy", daemon=True).start()
    return app


def _finish(response: Response) -> Response:
    """Add the remaining time of the window to every answer within a run. Forbid caching unless the answer allows it."""
    if request.method == "OPTIONS" and response.status_code == HTTPStatus.OK:
        # Flask sends an empty page of HTML.
        response.status_code = HTTPStatus.NO_CONTENT
        del response.headers["Content-Type"], response.headers["Content-Length"]
    left_ms = remaining_ms(part(Callers), present_request())
    if left_ms is not None:
        response.headers[REMAINING] = left_ms
    response.headers.setdefault(*NOT_TO_BE_KEPT)
    return response
