"""The operator's routes for heats: make one, and give its start signal."""

from __future__ import annotations

import shlex
from contextlib import AbstractContextManager
from dataclasses import asdict

from flask import Blueprint, Response, jsonify

from referee.errors import AttemptsUsed, RefereeError
from referee.runs.heat_making import LARGEST_ROUND, PlannedHeat
from referee.store.acts import Act
from referee.web.app_parts import part
from referee.web.callers import Callers
from referee.web.operator.operator_access import acting, require_operator, who
from referee.web.operator.operators_desk import OperatorsDesk
from referee.web.operator.run_routes import NOT_GIVEN, act
from referee.web.request_bodies import is_yes, read_object, read_texts, text_in
from referee.web.request_slots import OPERATOR_PATH

MOST_SHOWN = 20
"""Characters of a wrong value that a sentence repeats."""
FORM = '"name": "...", "round": "1", "sides": {"STATION": "TEAM", ...}'

blueprint = Blueprint("operator-heats", __name__, url_prefix=OPERATOR_PATH)
blueprint.before_request(require_operator)


@blueprint.post("/heats")
def make() -> tuple[Response, int]:
    """Make a heat: all its runs are armed together, or none.

    `sides` has the team by station. `beyond_attempts` = "yes" also arms teams that have used all their attempts.
    """
    planned = _planned(read_object(FORM))
    desk = part(OperatorsDesk)
    store = desk.callers.contest.store
    clock = desk.callers.clock
    named = who()

    # Runs are armed in threads, which do not know this request.
    def begin(
        action: str,
        run: int | None = None,
        **detail: object,
    ) -> AbstractContextManager[Act]:
        return store.log.act(clock.utc(), run, **named, action=action, **detail)

    try:
        runs = desk.callers.control.heats.make(planned, str(acting()), begin)
    except AttemptsUsed as error:
        raise error.allowed_by(_command(planned)) from error
    finally:
        desk.status.renew()
    teams = " and ".join(f"{run.team} at {run.station}" for run in runs)
    return jsonify(
        name=planned.name,
        round=planned.round,
        runs=[asdict(run) for run in runs],
        sentence=f"Heat {planned.name} is made: {teams}.",
        config_changed=desk.config_watch.look(),
    ), 201


def _command(planned: PlannedHeat) -> str:
    """Return the command that makes this heat even if a team has used its attempts."""
    sides = [shlex.quote(f"{team}@{name}") for name, team in planned.teams.items()]
    of = [] if planned.round is None else [f"--round {planned.round}"]
    named = ["referee run heat", shlex.quote(planned.name), *sides, *of, "--anyway"]
    return " ".join(named)


def _planned(body: dict[str, object]) -> PlannedHeat:
    name = text_in(body, "name", None)
    given = body.get("round")
    is_number = isinstance(given, int) and not isinstance(given, bool)
    round_ = str(given) if is_number else text_in(body, "round", NOT_GIVEN)
    beyond = text_in(body, "beyond_attempts", NOT_GIVEN)
    sides = body.get("sides")
    if not isinstance(sides, dict):
        raise RefereeError("bad-json", f"The body must be a JSON object: {{{FORM}}}.")
    teams = {station: text_in(sides, station, None) for station in sides}
    may_repeat = is_yes("beyond_attempts", beyond)
    return PlannedHeat(" ".join(name.split()), teams, _round(round_), may_repeat)


def _round(text: str) -> int | None:
    if text == NOT_GIVEN:
        return None
    is_number = text.isascii() and text.isdigit()
    if not is_number or len(text) > MOST_SHOWN:
        shown = repr(text) if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]!r}…"
        sentence = f'"round" is {shown}; it must be a number from 1 to {LARGEST_ROUND}, as "1".'
        raise RefereeError("bad-json", sentence)
    return int(text)


@blueprint.post("/heats/start")
def start() -> Response:
    """Give the start signal of a heat: its runs open together.

    With `absent` = "start" it starts even if a team is not waiting.
    """
    heat, absent = read_texts("heat", absent="refuse")
    with act("start", heat=heat, absent=absent) as under_way:
        opened = part(Callers).control.start(
            heat, absent_too=absent == "start", act=under_way
        )
    return jsonify([asdict(run) for run in opened])
