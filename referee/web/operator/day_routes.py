"""The operator's routes for the queue and the announcements."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

from flask import Blueprint, Response, jsonify

from referee.errors import RefereeError
from referee.store.records import RunState
from referee.store.who_acted import who_changed_queue
from referee.web.app_parts import part
from referee.web.callers import Callers
from referee.web.operator.operator_access import acting, require_operator
from referee.web.operator.run_routes import act
from referee.web.question_texts import question_text
from referee.web.request_bodies import read_texts
from referee.web.request_slots import OPERATOR_PATH

LONGEST_ANNOUNCEMENT = 500
DRAW = "draw"
LONGEST_MINUTES = 24 * 60

blueprint = Blueprint("operator-day", __name__, url_prefix=OPERATOR_PATH)
blueprint.before_request(require_operator)


@blueprint.post("/queue/draw")
def draw() -> Response:
    """Replace the queue by all teams that may run again and have no run now, in an order drawn by lot."""
    contest = part(Callers).contest
    busy = {
        run.team
        for run in contest.store.runs.find()
        if run.state in (RunState.ARMED, RunState.OPEN)
    }
    used = contest.store.runs.attempts_used()
    limit = contest.config.attempts
    teams = contest.store.teams.all()
    drawn = [
        team
        for team, off in teams.items()
        if not off and team not in busy and not 0 < limit <= used.get(team, 0)
    ]
    secrets.SystemRandom().shuffle(drawn)
    with act(DRAW) as under_way:
        return jsonify(queue=contest.store.queue.change(lambda _: drawn, under_way))


@blueprint.post("/queue/undo")
def undo_draw() -> Response:
    """Restore the queue as it was before the last draw. Raises RefereeError `queue-changed` if it has changed since."""
    store = part(Callers).contest.store
    last = store.log.last_queue_act()
    if last is None or last["action"] != DRAW:
        sentence = (
            "Nobody has been drawn into the queue yet, so there is no draw to undo."
        )
        if last is not None:
            by = who_changed_queue(store.database.rows)
            sentence = f"The last change of the queue was not a draw, so there is nothing to undo: {by}."
        raise RefereeError("queue-changed", sentence)

    def restored(queue: list[str]) -> list[str]:
        if queue != last["queue"]:
            by = who_changed_queue(store.database.rows)
            raise RefereeError(
                "queue-changed",
                f"The queue has changed since the draw: {by}. Change it by hand, or draw again.",
            )
        before: list[str] = last["before"]
        return before

    with act("undo-draw") as under_way:
        return jsonify(queue=store.queue.change(restored, under_way))


@blueprint.post("/queue/<any(add,absent,remove):action>")
def change(action: str) -> Response:
    """Add a team at the end of the queue, move an absent team there, or remove one."""
    (team,) = read_texts("team")
    if action == "add":
        part(Callers).contest.store.teams.require(team)

    def changed(queue: list[str]) -> list[str]:
        if action == "add" and team in queue:
            raise RefereeError(
                "team-queued",
                f"{team} is number {queue.index(team) + 1} of the queue already.",
            )
        if action != "add" and team not in queue:
            raise RefereeError("team-not-queued", f"{team} is not in the queue.")
        others = [one for one in queue if one != team]
        return others if action == "remove" else [*others, team]

    with act(f"queue-{action}", team=team) as under_way:
        return jsonify(
            queue=part(Callers).contest.store.queue.change(changed, under_way)
        )


@blueprint.post("/announcements")
def announce() -> tuple[Response, int]:
    """Publish an announcement to everyone, for so many `minutes`; without them until it is withdrawn."""
    text, minutes = read_texts("text", minutes="")
    line = " ".join(text.split())
    text = question_text(line, "announcement", LONGEST_ANNOUNCEMENT)
    store = part(Callers).contest.store
    now = part(Callers).clock.utc()
    expires = _expiry(minutes, now)
    expires_utc = expires and expires.isoformat()
    with act("announce", text=text, expires_utc=expires_utc) as under_way:
        number = store.announcements.add(str(acting()), text, now, under_way, expires)
    return jsonify(id=number, text=text, expires_utc=expires_utc), 201


def _expiry(minutes: str, now: datetime) -> datetime | None:
    """Return the end of so many minutes; None for a blank. Raises RefereeError `bad-request`."""
    if not minutes.strip():
        return None
    try:
        length = float(minutes)
    except ValueError:
        length = 0.0
    if not 0 < length <= LONGEST_MINUTES:
        raise RefereeError(
            "bad-request",
            f'"minutes" is {minutes!r}; it must be more than 0 and at most {LONGEST_MINUTES}.',
        )
    return now + timedelta(minutes=length)


@blueprint.post("/announcements/<int:number>/withdraw")
def withdraw(number: int) -> Response:
    """Withdraw an announcement."""
    store = part(Callers).contest.store
    now = part(Callers).clock.utc()
    with act("withdraw", announcement=number) as under_way:
        store.announcements.withdraw(number, now, under_way)
    return jsonify(id=number)
