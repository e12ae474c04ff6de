"""The presenter's page of an unveiling: which place comes next, whose it is, and the key that shows it to the hall."""

from __future__ import annotations

import json
from typing import Any

from flask import Blueprint, Response

from referee.pages.figure_text import score_unit
from referee.store.records import BoardState
from referee.web.app_parts import part
from referee.web.callers import Callers
from referee.web.html_pages import html, page, rendered
from referee.web.operator.console import lead_to_log_in
from referee.web.operator.operator_access import csrf_token
from referee.web.request_slots import OPERATOR_PATH

blueprint = Blueprint("ceremony", __name__, url_prefix=OPERATOR_PATH + "/ceremony")
blueprint.before_request(lead_to_log_in)


@blueprint.get("/")
def ceremony() -> Response:
    """Answer with the page."""
    contest = part(Callers).contest.config.name
    return page(
        "operator/ceremony.html",
        contest=contest,
        csrf=csrf_token(),
        **_shown(),
    )


@blueprint.get("/live")
def live() -> Response:
    """Answer with the changing part of the page."""
    return html(rendered("operator/ceremony_live.html", **_shown()))


def _shown() -> dict[str, Any]:
    """Return the state of the board, the places that are shown, and what comes next."""
    row = part(Callers).contest.store.published.get()
    if row is None or row.final is None:
        state = BoardState.LIVE if row is None else row.state
        none: dict[str, Any] = {"coming": [], "shown": [], "prizes": []}
        return {"state": state, "unveiled": 0, "unit": "", **none}
    final = json.loads(row.final)
    ranking = final["ranking"]
    hidden = max(0, len(ranking) - row.unveiled)
    return {
        "state": row.state,
        "unit": score_unit(final),
        "unveiled": row.unveiled,
        "coming": ranking[:hidden][::-1],
        "shown": ranking[hidden:],
        "prizes": final.get("prizes", []),
    }
