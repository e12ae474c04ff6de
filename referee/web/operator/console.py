"""The console's pages: a screen that follows the status document, the log-in page, and the reports of runs."""

from __future__ import annotations

import hashlib
import itertools
from pathlib import Path
from typing import Any

import orjson
from flask import Blueprint, Response, jsonify, request
from markupsafe import Markup

from referee.errors import RefereeError
from referee.pages.replay_player import player_hash
from referee.store.records import OVER
from referee.web.app_parts import part
from referee.web.callers import Callers, operator_of
from referee.web.command_turns import CommandTurns, Refused
from referee.web.html_pages import REPORT_POLICY, html, page, rendered
from referee.web.made_once import made_once
from referee.web.operator.operator_access import csrf_token, require_operator_or_log_in
from referee.web.operator.operators_desk import OperatorsDesk
from referee.web.request_slots import OPERATOR_PATH
from referee.web.web_request import present_request

LOGIN = "console.login"
LISTS = (
    "queue",
    "runs",
    "teams",
    "announcements",
    "refusals",
    "events",
    "left_out",
    "questions",
)
FOLLOWED = dict.fromkeys(
    ("elapsed_s", "energy_wh", "map", "score")
)  # of an open run, at its station
REFUSED = {
    "too-many-failures": "There were too many failed log-ins. Wait a minute, then try again."
}
VERSION_LENGTH = 16
NO_REPORT = Refused("report-failed", "The report cannot be written")

blueprint = Blueprint("console", __name__, url_prefix=OPERATOR_PATH)
_turns = CommandTurns("Other reports are being written; try again when they are done.")


@blueprint.before_request
def lead_to_log_in() -> Any:
    """Redirect a page request without a session to the log-in page, which afterwards returns to the requested page.

    Any other request, such as for /live, is refused unless an operator makes it.
    """
    if request.endpoint == LOGIN:
        return None
    is_page = request.method == "GET" and not request.path.endswith("/live")
    return require_operator_or_log_in(is_page=is_page)


@blueprint.get("/")
def console() -> Response:
    """Answer with the whole screen."""
    operator = operator_of(part(Callers), present_request())
    return page(
        "operator/console.html",
        **_shown(part(OperatorsDesk).status.look().body),
        operator=operator,
        csrf=csrf_token(),
    )


@blueprint.get("/live")
def live() -> Response:
    """Answer with the changing part of the screen, which is rendered once for all viewers.

    `lists` in the query is the version of the lists that the screen shows: they are sent only when they have changed.
    """
    known = request.args.get("lists", "")
    return html(_fragment(part(OperatorsDesk).status.look().body, known))


@blueprint.get("/login")
def login() -> Response:
    """Answer with the log-in page."""
    code = request.args.get("refused")
    sentence = code and REFUSED.get(code, "The name or the password is wrong.")
    contest = part(Callers).contest.config.name
    back = request.args.get("next", f"{OPERATOR_PATH}/")
    return page("operator/login.html", contest=contest, sentence=sentence, next=back)


@blueprint.get("/runs/<int:number>/report")
def report(number: int) -> Response:
    """Write the report of a closed run, and answer with it; with `?replay=yes` it has the run's replay."""
    run = part(Callers).contest.store.runs.get(number)
    if run.state not in OVER:
        sentence = (
            f"Run {number} is {run.state}; it has a report only after it is closed."
        )
        raise RefereeError("run-state", sentence, run=number)
    has_replay = request.args.get("replay") == "yes"
    (path,) = _reports([number], *(["--replay"] if has_replay else []))
    response = html(path.read_text())
    policy = REPORT_POLICY
    if has_replay:
        policy += f"; script-src {player_hash()}"
    response.headers["Content-Security-Policy"] = policy
    response.headers["Content-Disposition"] = f'inline; filename="{path.name}"'
    return response


@blueprint.post("/reports")
def reports() -> Response:
    """Write the reports of all runs that are over into the contest folder."""
    numbers = [
        run.id for run in part(Callers).contest.store.runs.find() if run.state in OVER
    ]
    paths = _reports(numbers) if numbers else []
    where = f"; they are in {paths[0].parent}" if paths else ""
    return jsonify(runs=numbers, sentence=f"Reports written: {len(paths)}{where}.")


def _reports(numbers: list[int], *options: str) -> list[Path]:
    """Write reports in a separate low-priority process, and return their files. Raises RefereeError."""
    words = ("report", *map(str, numbers), *options)
    folder = str(part(Callers).contest.folder)
    printed = _turns.run(*words, "--contest", folder, refused=NO_REPORT)
    return [Path(line) for line in printed.splitlines()]


def _shown(body: bytes) -> dict[str, Any]:
    """Return the template values: the status document `body`, and what it implies for the operator's actions."""
    now = orjson.loads(body)
    queued = [one["team"] for one in now["queue"]]
    others = [
        one["team"]
        for one in now["teams"]
        if not one["disabled"] and one["team"] not in queued
    ]
    free = [station["name"] for station in now["stations"] if station["run"] is None]
    choices = {
        "free": free,
        "queued": queued,
        "callable": queued + others,
        "window_s": now["window_s"],
    }
    choices["can_undo_draw"] = now["can_undo_draw"]
    choices["publish_by"] = now["publish_by"]
    choices["board"] = now["board"]["state"]
    choices["arming_s"] = {
        station["name"]: station["arming_at_least_s"] for station in now["stations"]
    }
    heats = {one["heat"] for one in now["runs"]}
    names = map(str, itertools.count(1))
    choices["heat_name"] = next(name for name in names if name not in heats)
    runs = [one | FOLLOWED if one["state"] == "open" else one for one in now["runs"]]
    lists = _lists(
        orjson.dumps(
            {"now": {key: now[key] for key in LISTS} | {"runs": runs}} | choices
        )
    )
    version = hashlib.sha256(lists.encode()).hexdigest()[:VERSION_LENGTH]
    shown = {"lists": Markup(lists), "lists_version": version}  # noqa: S704 - rendered
    return {"now": now} | shown | choices


@made_once(4)
def _fragment(body: bytes, known: str) -> str:
    shown = _shown(body)
    if shown["lists_version"] == known:
        shown["lists"] = None
    return rendered("operator/live.html", **shown)


@made_once(2)
def _lists(values: bytes) -> str:
    """Return the part below the stations, which is the longest and seldom changes."""
    return rendered("operator/lists.html", **orjson.loads(values))
