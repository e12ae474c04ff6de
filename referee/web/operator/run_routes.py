"""The operator's routes for runs: arm, close, void, review, judge, confirm, publish, and the status.

Each act is recorded with the operator's name.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from flask import Blueprint, Response, jsonify, request

from lpirc_power.errors import MeterError
from referee.contest import Contest, require_closed
from referee.errors import AttemptsUsed, RefereeError
from referee.given_units import as_number
from referee.judging.jury_decisions import Seen, confirm, publish
from referee.judging.run_figures import let_stand, run_document
from referee.store.acts import Act
from referee.store.records import RunState
from referee.web.app_parts import part
from referee.web.callers import Callers
from referee.web.http_answers import through_flask
from referee.web.operator.operator_access import acting, require_operator, who
from referee.web.operator.operators_desk import OperatorsDesk
from referee.web.problem_documents import meter_problem
from referee.web.question_texts import question_text
from referee.web.request_bodies import is_yes, read_texts
from referee.web.request_slots import OPERATOR_PATH

LONGEST_SHOWN = 40
NOT_GIVEN = ""  # a given text is never blank

blueprint = Blueprint("operator", __name__, url_prefix=OPERATOR_PATH)
blueprint.before_request(require_operator)


@contextmanager
def act(action: str, run: int | None = None, **detail: object) -> Iterator[Act]:
    """Begin an act of this operator: the store commits the changes together with their event; see `EventTable.act`."""
    desk = part(OperatorsDesk)
    named = who() | {"action": action}
    store = desk.callers.contest.store
    now = desk.callers.clock.utc()
    try:
        with store.log.act(now, run, **named, **detail) as under_way:
            yield under_way
    finally:
        desk.status.renew()


@blueprint.get("/status")
def status() -> Response:
    """Answer with everything that an operator sees, at most a second old; 304 if nothing but the time has changed."""
    look = part(OperatorsDesk).status.look()
    response = Response(look.body, content_type="application/json")
    response.set_etag(look.etag)
    response.headers["Cache-Control"] = "no-cache"
    return response.make_conditional(request)  # type: ignore[return-value]  # the same response


@blueprint.post("/runs")
def arm() -> tuple[Response, int]:
    """Arm a run for a team, at the named station or at the only one. With `heat` the run waits for the heat's signal.

    `extra_s` lengthens its window by whole seconds. `beyond_attempts` = "yes" also arms a team that has used all its
    attempts.
    """
    desk = part(OperatorsDesk)
    names = ("station", "heat", "extra_s", "beyond_attempts", "reason")
    given = dict.fromkeys(names, NOT_GIVEN)
    team, station, heat, extra, beyond, reason = read_texts("team", **given)
    extra_s = _seconds("extra_s", extra) if extra else None
    may_repeat = is_yes("beyond_attempts", beyond)
    more: dict[str, Any] = {"beyond_attempts": beyond or None, "reason": reason or None}
    more["extra_s"] = extra_s
    try:
        with act("arm", team=team, **more) as under_way:
            run = desk.callers.control.arm(
                team,
                station or _only_station(desk.callers.contest),
                heat or None,
                extra_s=extra_s,
                beyond_attempts=may_repeat,
                act=under_way,
            )
    except AttemptsUsed as error:
        at = f" --station {shlex.quote(station)}" if station else ""
        at += f" --heat {shlex.quote(heat)}" if heat else ""
        at += f" --extra-time {extra}" if extra_s else ""
        command = f'referee run arm {shlex.quote(team)}{at} --anyway --reason "…"'
        raise error.allowed_by(command) from error
    except MeterError as error:
        return through_flask(meter_problem(error, "nothing is armed")), 503
    return jsonify(asdict(run) | {"config_changed": desk.config_watch.look()}), 201


@blueprint.post("/runs/<int:number>/close")
def close(number: int) -> Response:
    """Close an open run now."""
    run = part(Callers).contest.store.runs.get(number)
    if run.state is RunState.ARMED:
        raise RefereeError(
            "run-state",
            f"Run {number} is armed, not open; void it instead.",
            run=number,
        )
    with act("close", number, reason=_reason()) as under_way:
        closed = part(Callers).control.close(number, "operator", under_way)
    return jsonify(asdict(closed))


@blueprint.post("/runs/<int:number>/void")
def void(number: int) -> Response:
    """Take a run out of the contest, recording the reason."""
    (given,) = read_texts("reason")
    reason = question_text(given, "reason")
    with act("void", number, reason=reason) as under_way:
        voided = part(Callers).control.void(number, reason, under_way)
    return jsonify(asdict(voided))


@blueprint.post("/runs/<int:number>/unvoid")
def unvoid(number: int) -> Response:
    """Take a void run back into the contest."""
    was_void = part(Callers).contest.store.runs.get(number).void_reason
    with act("unvoid", number, was_void=was_void, reason=_reason()) as under_way:
        back = part(Callers).control.unvoid(number, under_way)
    return jsonify(run_document(back))


@blueprint.post("/runs/<int:number>/review")
def review(number: int) -> Response:
    """Accept a run that is in review, with a note."""
    (given,) = read_texts("note")
    note = question_text(given, "note")
    contest = part(Callers).contest
    now = part(Callers).clock.utc()
    with act("review", number, note=note) as under_way:
        kept = let_stand(contest, number, str(acting()), note, now, under_way)
    judged = contest.store.scores.latest(number)
    return jsonify(asdict(kept) | {"run": number, "score": judged and judged.score})


@blueprint.post("/runs/<int:number>/confirm")
def confirm_run(number: int) -> Response:
    """Confirm the judgement of a run, named by its time `judged_utc` and that of its newest review, `reviewed_utc`."""
    with act("confirm", number) as under_way:
        _decide(confirm, number, under_way)
    return jsonify(run=number, sentence=f"Run {number} is confirmed.")


@blueprint.post("/runs/<int:number>/publish")
def publish_run(number: int) -> Response:
    """Publish the confirmed judgement of a run, named as for `confirm_run`."""
    with act("publish", number) as under_way:
        _decide(publish, number, under_way)
    return jsonify(run=number, sentence=f"Run {number} is published.")


def _decide(decide: Callable[..., None], number: int, under_way: Act) -> None:
    judged_utc, reviewed_utc = read_texts("judged_utc", reviewed_utc=NOT_GIVEN)
    contest = part(Callers).contest
    now = part(Callers).clock.utc()
    seen = Seen(judged_utc, reviewed_utc or None)
    decide(contest, number, seen, str(acting()), now, under_way)


@blueprint.post("/runs/<int:number>/judge")
def judge(number: int) -> Response:
    """Judge a closed run, or judge it again, in a separate process; the status shows when it is done."""
    require_closed(part(Callers).contest.store.runs.get(number))
    return _judge([number])


@blueprint.post("/judge")
def judge_all() -> Response:
    """Judge every closed run that is not judged yet."""
    return _judge(
        [run.id for run in part(Callers).contest.store.runs.find(RunState.CLOSED)]
    )


def _judge(numbers: list[int]) -> Response:
    desk = part(OperatorsDesk)
    store = desk.callers.contest.store
    now = desk.callers.clock.utc()
    for number in numbers:
        store.log.append(now, number, "operator", **who(), action="judge")
    desk.judging.ask(numbers)
    desk.status.renew()
    return jsonify(judging=numbers)


def _reason() -> str | None:
    """Return the reason stated in the body, or None."""
    if not request.content_length:
        return None
    (reason,) = read_texts(reason=NOT_GIVEN)
    return question_text(reason, "reason") if reason.strip() else None


def _seconds(key: str, given: str) -> int:
    """Return a number of seconds. Raises RefereeError `bad-request`."""
    if given.isascii() and given.isdigit() and len(given) < 10:
        return int(given)
    words = "it must be a whole number of seconds above 0"
    sentence = f"{key} is {given[:LONGEST_SHOWN]!r}; {words}{as_number(key, given[:LONGEST_SHOWN])}."
    raise RefereeError("bad-request", sentence)


def _only_station(contest: Contest) -> str:
    names = [station.name for station in contest.config.stations]
    if len(names) > 1:
        raise RefereeError(
            "station-missing",
            f"There are several stations; add --station with one of {', '.join(names)}.",
        )
    return names[0]
