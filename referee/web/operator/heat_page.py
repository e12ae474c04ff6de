"""The operators' page of a heat: the full race, with every figure, whatever the public board shows."""

from __future__ import annotations

import orjson
from flask import Blueprint, Response, request

from referee.errors import RefereeError
from referee.judging.heat_courses import power_of
from referee.judging.heat_documents import heats_document
from referee.judging.heat_race import race_of_status
from referee.pages.figure_text import heat_text
from referee.web.app_parts import part
from referee.web.callers import Callers
from referee.web.html_pages import html, page, rendered
from referee.web.operator.operator_access import require_operator_or_log_in
from referee.web.operator.operators_desk import OperatorsDesk
from referee.web.request_slots import OPERATOR_PATH

LIVE = "operator-heat-page.live"

blueprint = Blueprint("operator-heat-page", __name__, url_prefix=OPERATOR_PATH)


@blueprint.before_request
def lead_to_log_in() -> Response | None:
    """Redirect a page request without a session to the log-in page; refuse the changing part."""
    return require_operator_or_log_in(is_page=request.endpoint != LIVE)


@blueprint.get("/heats/<path:name>")
def show(name: str) -> Response:
    """Answer with the page of a heat. Raises RefereeError `heat-unknown`."""
    contest = part(Callers).contest
    return page(
        "operator/heat.html",
        200,
        live=_race_part(name),
        path=f"{OPERATOR_PATH}/live/heats/{name}",
        title=heat_text(name),
        contest=contest.config.name,
    )


@blueprint.get("/live/heats/<path:name>")
def live(name: str) -> Response:
    """Answer with the changing part of the page of a heat."""
    return html(_race_part(name))


def _race_part(name: str) -> str:
    desk = part(OperatorsDesk)
    status = orjson.loads(desk.status.look().body)
    heats = heats_document(desk.callers.contest)["heats"]
    for side in (
        side for heat in heats if heat["name"] == name for side in heat["sides"]
    ):
        run = desk.callers.contest.store.runs.get(side["run"])
        side["power"] = power_of(desk.callers.contest, run)
    race = race_of_status(status, heats, desk.status.courses.by_run(), name)
    if race is None:
        sentence = f"There is no heat {name!r}; see: referee heat standings"
        raise RefereeError("heat-unknown", sentence)
    left = [side.get("remaining_s") for side in race["sides"]]
    race["remaining_s"] = max((one for one in left if one is not None), default=None)
    return rendered(
        "heats/race.html",
        race=race,
        state="live",
        rough=False,
        contest=desk.callers.contest.config.name,
    )
