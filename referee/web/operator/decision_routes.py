"""The operator's routes that decide on many runs in one request: confirm all, publish all.

Each run is decided on as by its own route, and on record by itself. A run that cannot be decided on, or that something
speaks against, is left out and named; the others are decided on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import orjson
from flask import Blueprint, Response, jsonify

from referee.errors import RefereeError, StorageFailed
from referee.judging.jury_decisions import Seen, confirm, publish
from referee.web.app_parts import part
from referee.web.callers import Callers
from referee.web.operator.operator_access import acting, require_operator
from referee.web.operator.operators_desk import OperatorsDesk
from referee.web.operator.run_routes import NOT_GIVEN, act
from referee.web.request_bodies import read_object, text_in
from referee.web.request_slots import OPERATOR_PATH

FORM = '"runs": [{"run": 1, "judged_utc": "...", "reviewed_utc": "..."}, ...]'

blueprint = Blueprint("operator-decisions", __name__, url_prefix=OPERATOR_PATH)
blueprint.before_request(require_operator)


@blueprint.post("/confirm")
def confirm_all() -> Response:
    """Confirm the judgements of these runs, each named as for `POST /operator/runs/N/confirm`."""
    return _decide_each("confirm", "confirmed", confirm)


@blueprint.post("/publish")
def publish_all() -> Response:
    """Publish the confirmed judgements of these runs."""
    return _decide_each("publish", "published", publish)


def _decide_each(action: str, done: str, decide: Callable[..., None]) -> Response:
    """Decide on each run. Raises RefereeError `none-decided` if all of them were left out."""
    seen = dict(_seen_runs(read_object(FORM)))
    objections = _objections()
    contest = part(Callers).contest
    decided = []
    left_out = list[RefereeError]()
    for number, judgement in seen.items():
        try:
            _require_no_objection(number, objections.get(number))
            now = part(Callers).clock.utc()
            with act(action, number, together=len(seen)) as under_way:
                decide(contest, number, judgement, str(acting()), now, under_way)
        except StorageFailed:
            raise
        except RefereeError as error:
            left_out.append(error)
        else:
            decided.append(number)
    return _answer(done, decided, left_out)


def _require_no_objection(number: int, objection: str | None) -> None:
    if objection is not None:
        sentence = f"Run {number} needs a decision by itself: {objection}."
        raise RefereeError("run-state", sentence, run=number)


def _answer(done: str, decided: list[int], left_out: list[RefereeError]) -> Response:
    why = " ".join(one.sentence for one in left_out)
    named = [{"code": one.code, "detail": one.sentence} | one.facts for one in left_out]
    if not decided:
        sentence = f"No run was {done}. {why}"
        raise RefereeError("none-decided", sentence, left_out=named)
    sentence = f"{done.capitalize()}: run {', '.join(map(str, decided))}."
    if left_out:
        sentence = f"{sentence} Left out: {why}"
    return jsonify(runs=decided, left_out=named, sentence=sentence)


def _objections() -> dict[int, str | None]:
    """Return what speaks against each run now."""
    status = part(OperatorsDesk).status
    status.renew()
    runs = orjson.loads(status.look().body)["runs"]
    return {one["run"]: one["objection"] for one in runs}


def _seen_runs(body: dict[str, object]) -> Iterator[tuple[int, Seen]]:
    """Yield each run with the judgement that was seen. Raises RefereeError `bad-json`."""
    runs = body.get("runs")
    if not isinstance(runs, list) or not runs:
        raise _bad_form()
    for one in runs:
        if not isinstance(one, dict):
            raise _bad_form()
        yield (
            _number(one.get("run")),
            Seen(
                text_in(one, "judged_utc", None),
                text_in(one, "reviewed_utc", NOT_GIVEN) or None,
            ),
        )


def _number(given: Any) -> int:
    if not isinstance(given, int) or isinstance(given, bool):
        raise _bad_form()
    return given


def _bad_form() -> RefereeError:
    return RefereeError("bad-json", f"The body must be a JSON object: {{{FORM}}}.")
