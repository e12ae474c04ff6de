"""The operator's side: arm, close and void runs of the contest being served. Its key lies in the contest folder."""

from __future__ import annotations

import hmac
from dataclasses import asdict

from flask import Blueprint, Response, jsonify, request

from referee.errors import RefereeError
from referee.records import RunState
from referee.web.state import web_state

blueprint = Blueprint("operator", __name__, url_prefix="/operator")


@blueprint.before_request
def require_key() -> None:
    """Let only the bearer of the operator's key in."""
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    expected = web_state().contest.operator_key
    if scheme.lower() != "bearer" or not hmac.compare_digest(key.strip().encode(), expected.encode()):
        raise RefereeError("bad-token", "This needs the operator's key; it lies in the contest folder.")


@blueprint.post("/runs")
def arm() -> tuple[Response, int]:
    """Arm a run for a team at a station: the only station, when none is named."""
    state = web_state()
    stations = state.contest.config.stations
    station = _text("station", default=stations[0].name if len(stations) == 1 else None)
    run = state.control.arm(_text("team"), station)
    return jsonify(asdict(run)), 201


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
    return jsonify(asdict(web_state().control.void(number, _text("reason"))))


def _text(key: str, default: str | None = None) -> str:
    body = request.get_json(silent=True)
    value = body.get(key, default) if isinstance(body, dict) else default
    if not isinstance(value, str) or not value.strip():
        raise RefereeError("bad-json", f"The JSON body needs {key!r} as a text.")
    return value
