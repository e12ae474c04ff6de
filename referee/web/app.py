"""The app factory: takes finished objects, registers the blueprints; nothing happens at import."""

from __future__ import annotations

from flask import Flask

from referee.clock import Clock
from referee.contest import Contest
from referee.passwords import FailureLimit
from referee.runs import RunControl
from referee.web import contest as contest_routes
from referee.web import operator as operator_routes
from referee.web import problems
from referee.web.auth import nobodys_hash
from referee.web.images import ImageFiles
from referee.web.state import EXTENSION, WebState


def create_app(contest: Contest, control: RunControl, clock: Clock) -> Flask:
    """The WSGI app that serves `contest`, whose runs `control` owns."""
    app = Flask("referee", static_folder=None)
    app.json.sort_keys = False  # type: ignore[attr-defined]
    app.extensions[EXTENSION] = WebState(
        contest=contest,
        control=control,
        clock=clock,
        failures=FailureLimit(),
        images=ImageFiles(contest.test_set),
    )
    app.register_blueprint(contest_routes.blueprint)
    app.register_blueprint(operator_routes.blueprint)
    problems.register(app)
    nobodys_hash()
    return app
