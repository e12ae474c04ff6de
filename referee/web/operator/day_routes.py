"""The operator's routes for what is not a run: the queue and the announcements."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from flask import Blueprint, Response, jsonify

from referee.errors import RefereeError
from referee.store.records import RunState
from referee.web.bodies import read_texts
from referee.web.operator.access import acting, require_operator
from referee.web.operator.routes import record
from referee.web.slots import OPERATOR_PATH
from referee.web.state import web_state

LONGEST_ANNOUNCEMENT = 500

blueprint = Blueprint("operator-day", __name__, url_prefix=OPERATOR_PATH)
blueprint.before_request(require_operator)


@blueprint.post("/queue/draw")
def draw() -> Response:
    """Draw by lot the order of all teams that may run again and have no run now; it replaces the queue."""
    contest = web_state().contest
    runs, teams = contest.store.runs(), contest.store.teams()
    used = {team: sum(run.team == team and run.state is not RunState.VOID for run in runs) for team in teams}
    busy = {run.team for run in runs if run.state in (RunState.ARMED, RunState.OPEN)}
    limit = contest.config.attempts
    drawn = [
        team for team, off in teams.items() if not off and team not in busy and not 0 < limit <= used[team]
    ]
    secrets.SystemRandom().shuffle(drawn)
    return _changed("draw", lambda _: drawn)


@blueprint.post("/queue/add")
def add() -> Response:
    """Add a team at the end of the queue."""
    (team,) = read_texts("team")
    web_state().contest.store.require_team(team)

    def added(queue: list[str]) -> list[str]:
        if team in queue:
            raise RefereeError(
                "team-queued", f"{team} is number {queue.index(team) + 1} of the queue already."
            )
        return [*queue, team]

    return _changed("queue-add", added, team=team)


@blueprint.post("/queue/absent")
def absent() -> Response:
    """Move a team that is absent to the end of the queue."""
    (team,) = read_texts("team")
    return _changed("queue-absent", lambda queue: [*_without(queue, team), team], team=team)


@blueprint.post("/queue/remove")
def remove() -> Response:
    """Take a team out of the queue."""
    (team,) = read_texts("team")
    return _changed("queue-remove", lambda queue: _without(queue, team), team=team)


def _without(queue: list[str], team: str) -> list[str]:
    if team not in queue:
        raise RefereeError("team-not-queued", f"{team} is not in the queue.")
    return [one for one in queue if one != team]


def _changed(action: str, change: Callable[[list[str]], list[str]], **detail: object) -> Response:
    before: list[str] = []

    def changed(queue: list[str]) -> list[str]:
        before[:] = queue
        return change(queue)

    after = web_state().contest.store.change_queue(changed)
    record(None, action, **detail, before=before, queue=after)
    return jsonify(queue=after)


@blueprint.post("/announcements")
def announce() -> tuple[Response, int]:
    """Tell everyone something."""
    (text,) = read_texts("text")
    text = " ".join(text.split())
    if len(text) > LONGEST_ANNOUNCEMENT or not text.isprintable():
        raise RefereeError(
            "bad-request",
            f"An announcement has at most {LONGEST_ANNOUNCEMENT} printable characters, not {len(text)}.",
        )
    state = web_state()
    number = state.contest.store.announce(acting(), text, state.clock.utc())
    record(None, "announce", announcement=number, text=text)
    return jsonify(id=number, text=text), 201


@blueprint.post("/announcements/<int:number>/withdraw")
def withdraw(number: int) -> Response:
    """Withdraw an announcement."""
    web_state().contest.store.withdraw_announcement(number, web_state().clock.utc())
    record(None, "withdraw", announcement=number)
    return jsonify(id=number)
