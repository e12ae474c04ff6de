"""The page of one run for the jury, open or over, its notes, and its downloads."""

from __future__ import annotations

import hashlib
import io
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import orjson
from flask import Blueprint, Response, jsonify, request
from markupsafe import Markup

from lpirc_score.files.atomic_write import write_atomically
from referee.errors import RefereeError
from referee.judging.jury_decisions import require_published
from referee.judging.kept_timelines import timeline_file
from referee.judging.run_dossier import MOST_LISTED, dossier_of
from referee.judging.run_export import FORMATS
from referee.presence import is_there
from referee.store.records import OVER
from referee.store.run_mark import run_mark
from referee.web.app_parts import part
from referee.web.callers import Callers, operator_of
from referee.web.command_turns import CommandTurns, Refused
from referee.web.html_pages import html, page, rendered
from referee.web.operator.console import lead_to_log_in
from referee.web.operator.operator_access import acting, csrf_token
from referee.web.operator.operators_desk import OperatorsDesk
from referee.web.operator.run_routes import act
from referee.web.question_texts import question_text
from referee.web.request_bodies import read_body, read_texts
from referee.web.request_slots import OPERATOR_PATH
from referee.web.web_request import present_request

LARGEST_TIMELINE = 2**25
NO_DOWNLOAD = Refused("report-failed", "The download cannot be made")
BAD_TIMELINE = Refused("bad-timeline", "The file is not kept")

blueprint = Blueprint("jury", __name__, url_prefix=f"{OPERATOR_PATH}/runs/<int:number>")
blueprint.before_request(lambda *_, **__: lead_to_log_in())
_turns = CommandTurns("Other downloads are being made; try again when they are done.")


@blueprint.get("")
def run_page(number: int) -> Response:
    """Answer with the whole page; with `lists` = "all" its lists are whole."""
    operator = operator_of(part(Callers), present_request())
    shown = _shown(number)
    return page(
        "operator/run.html",
        **shown,
        lists=_lists(),
        has_timeline=is_there(timeline_file(part(Callers).contest.folder, number)),
        live=Markup(_fragment(shown)),  # noqa: S704 - rendered
        operator=operator,
        csrf=csrf_token(),
    )


@blueprint.get("/live")
def live(number: int) -> Response:
    """Answer with the changing part of the page, which is rendered once for all viewers; 304 if nothing has changed."""
    return html(_fragment(_shown(number)))


def _lists() -> str:
    return request.args.get("lists", "")


def _shown(number: int) -> dict[str, Any]:
    """Return what the status says of a run."""
    contest = part(Callers).contest
    contest.store.runs.get(number)
    status = orjson.loads(part(OperatorsDesk).status.look().body)
    listed = next((one for one in status["runs"] if one["run"] == number), None)
    if listed is None:  # armed since the status was made
        part(OperatorsDesk).status.renew()
        status = orjson.loads(part(OperatorsDesk).status.look().body)
        listed = next(one for one in status["runs"] if one["run"] == number)
    stations = [one["run"] for one in status["stations"] if one["run"]]
    return {
        "contest": status["contest"],
        "run": listed,
        "active": next((one for one in stations if one["run"] == number), None),
        "attention": _needed(status, number),
        "publish_by": status["publish_by"],
    }


def _needed(status: dict[str, Any], number: int) -> list[dict[str, Any]]:
    """Return what the run needs, without the way to its own page."""
    here = f"{OPERATOR_PATH}/runs/{number}"
    needed = []
    for one in status["attention"]:
        if one["run"] == number:
            ways = [way for way in one["acts"] if way["path"] != here]
            needed.append(one | {"acts": ways})
    return needed


def _fragment(shown: dict[str, Any]) -> str:
    """Return the changing part of the page; what is stored of the run is read only if it has changed."""
    contest = part(Callers).contest
    desk = part(OperatorsDesk)
    number = shown["run"]["run"]
    mark = run_mark(contest.store.database, number)
    most = None if _lists() == "all" else MOST_LISTED

    def make() -> str:
        record = contest.store.runs.get(number)
        dossier = dossier_of(contest, record, desk.status.answered, most)
        return rendered(
            "operator/run_live.html", **shown, record=record, dossier=dossier
        )

    key = (number, most, mark, orjson.dumps(shown))
    return desk.fragments.get(key, make)


@blueprint.post("/note")
def note(number: int) -> tuple[Response, int]:
    """Write a note on a run, which operators alone see."""
    (text,) = read_texts("text")
    text = question_text(text, "note")
    store = part(Callers).contest.store
    store.runs.get(number)
    now = part(Callers).clock.utc()
    with act("note", number, text=text) as under_way:
        store.notes.add(number, str(acting()), text, now, under_way)
    return jsonify(run=number, text=text), 201


@blueprint.post("/timeline")
def timeline(number: int) -> Response:
    """Keep the client's timeline of a run that is over, for its reports; a process of its own reads it first."""
    _require_over(number)
    content = read_body(present_request(), LARGEST_TIMELINE)
    folder = part(Callers).contest.folder
    with tempfile.TemporaryDirectory() as place:
        given = Path(place) / "timeline.json"
        write_atomically(given, content)
        words = ("report", str(number), "--timeline", str(given), "--out", place)
        try:
            _run(*words, refused=BAD_TIMELINE)
        except RefereeError as error:
            sentence = error.sentence.replace(f"{given}: ", "")
            raise RefereeError(error.code, sentence) from error
    kept = timeline_file(folder, number)
    kept.parent.mkdir(exist_ok=True)
    with act("timeline", number, sha256=hashlib.sha256(content).hexdigest()):
        write_atomically(kept, content)
    sentence = f"The timeline is kept; the reports of run {number} have it from now on."
    return jsonify(run=number, bytes=len(content), sentence=sentence)


@blueprint.get("/bundle")
def bundle(number: int) -> Response:
    """Answer with the bundle of a run that is over and that everyone may see."""
    _require_over(number)
    require_published(part(Callers).contest, number)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bundle.zip"
        _run("bundle", "export", str(number), "--out", str(file))
        return _download(file.read_bytes(), f"run-{number}.zip")


@blueprint.get("/export")
def export(number: int) -> Response:
    """Answer with a zip of a run's detections, readings and events; `format` is that of the detections."""
    wanted = request.args.get("format", "csv")
    if wanted not in FORMATS:
        raise RefereeError(
            "bad-request", f"format must be one of {', '.join(FORMATS)}."
        )
    part(Callers).contest.store.runs.get(number)
    with tempfile.TemporaryDirectory() as folder:
        _run("run", "export", str(number), "--out", folder, "--format", wanted)
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            for file in sorted(Path(folder).iterdir()):
                archive.write(file, file.name)
    return _download(content.getvalue(), f"run-{number}-{wanted}.zip")


def _require_over(number: int) -> None:
    run = part(Callers).contest.store.runs.get(number)
    if run.state not in OVER:
        sentence = (
            f"Run {number} is {run.state}; there is a bundle only after it is closed."
        )
        raise RefereeError("run-state", sentence, run=number)


def _run(*words: str, refused: Refused = NO_DOWNLOAD) -> None:
    """Run a command about the contest in a separate low-priority process, one at a time. Raises RefereeError."""
    folder = str(part(Callers).contest.folder)
    _turns.run(*words, "--contest", folder, refused=refused)


def _download(content: bytes, name: str) -> Response:
    response = Response(content, content_type="application/zip")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
