"""The operator's side: arm, close and void runs of the contest being served. Its key lies in the contest folder."""

from __future__ import annotations

from dataclasses import asdict

from flask import Blueprint, Response, jsonify, request

from power.errors import MeterError
from referee.contest import Contest
from referee.errors import RefereeError, SessionRefused
from referee.store.records import RunState
from referee.web.answers import through_flask
from referee.web.bodies import read_texts
from referee.web.problems import meter_problem
from referee.web.sessions import is_operator
from referee.web.slots import OPERATOR_PATH
from referee.web.state import web_state

NOT_GIVEN = ""  # a text that is given is not blank

blueprint = Blueprint("operator", __name__, url_prefix=OPERATOR_PATH)


@blueprint.before_request
def require_key() -> None:
    """Let only the bearer of the operator's key in."""
    if not is_operator(web_state(), request.environ):
        raise SessionRefused("bad-token", "This needs the operator's key; it lies in the contest folder.")


@blueprint.post("/runs")
def arm() -> tuple[Response, int]:
    """Arm a run for a team at a station: the only station, when none is named. With `heat` it waits for its signal."""
    state = web_state()
    team, station, heat = read_texts("team", station=NOT_GIVEN, heat=NOT_GIVEN)
    try:
        run = state.control.arm(team, station or _only_station(state.contest), heat or None)
    except MeterError as error:
        return through_flask(meter_problem(error, "nothing is armed")), 503
    return jsonify(asdict(run) | {"config_changed": state.config_watch.look()}), 201


@blueprint.post("/heats/start")
def start() -> Response:
    """Give the start signal of a heat: its runs open together. `absent` = "start": also without a team that waits."""
    heat, absent = read_texts("heat", absent="refuse")
    opened = web_state().control.start(heat, absent_too=absent == "start")
    return jsonify([asdict(run) for run in opened])


@blueprint.post("/runs/<int:number>/close")
def close(number: int) -> Response:
    """Close an open run now."""
    run = web_state().contest.store.run(number)
    if run.state is RunState.ARMED:
        raise RefereeError("run-state", f"Run {number} is armed, not open; void it instead.", run=number)
    return jsonify(asdict(web_state().control.close(number, "operator")))


@blueprint.post("/runs/<int:number>/void")
def void(number: int) -> Response:
    """Take a run out of the contest, with the reason."""
    (reason,) = read_texts("reason")
    return jsonify(asdict(web_state().control.void(number, reason)))


def _only_station(contest: Contest) -> str:
    names = [station.name for station in contest.config.stations]
    if len(names) > 1:
        raise RefereeError(
            "station-missing", f"There are several stations; add --station with one of {', '.join(names)}."
        )
    return names[0]
