"""Entries by upload: a team's files for the tracks, with its password or a token, whenever it likes."""

from __future__ import annotations

from datetime import UTC, datetime

from flask import Blueprint, Response, jsonify, request

from referee.auth import tokens
from referee.config.tracks import RESULTS
from referee.errors import SessionRefused
from referee.store.records import Submission
from referee.tracks.submissions.entries import entry_document, is_out, require_open, take_entry
from referee.tracks.submissions.open_track import configured_track
from referee.tracks.submissions.results_files import PUBLIC
from referee.tracks.submissions.submitting import LARGEST_MODEL_BYTES
from referee.web.bodies import parts_of_body, read_texts, stated_length
from referee.web.login import require_password
from referee.web.sessions import session_of
from referee.web.slots import too_many_requests
from referee.web.state import web_state

LARGEST_RESULTS_BYTES = 256 * 2**20

blueprint = Blueprint("entries", __name__, url_prefix="/v1/entries")


@blueprint.post("/session")
def log_in() -> tuple[Response, int]:
    """A token for entries alone: it opens no run."""
    team, password = read_texts("team", "password")
    require_password(team, password)
    state = web_state()
    expires_s = state.clock.utc().timestamp() + tokens.LIFETIME_S
    token = tokens.issue(state.contest.secret, tokens.Session(0, team, expires_s), tokens.ENTRIES)
    return jsonify(token=token, expires=datetime.fromtimestamp(expires_s, UTC).isoformat()), 201


@blueprint.post("")
def hand_in() -> tuple[Response, int]:
    """Take a file, checked, as an entry that waits."""
    team, state = _team(), web_state()
    config = configured_track(state.contest, request.args.get("track", ""))
    file = request.args.get("name", "")
    require_open(state.contest, config, team, file, state.clock.utc())
    most = LARGEST_RESULTS_BYTES if config.rule_name == RESULTS else LARGEST_MODEL_BYTES
    length = stated_length(request.environ, most, "")
    state.contest.store.require_room(length)
    if not state.upload_slots.acquire(team):
        raise too_many_requests()
    try:
        body = parts_of_body(request.environ, length)
        made = take_entry(state.contest, config, team, file, body, state.entries.checker, state.clock)
    finally:
        state.upload_slots.release(team)
    state.entries.ask()
    return jsonify(entry_document(state.contest.store, made)), 202


@blueprint.get("")
def list_own() -> Response:
    """The team's entries, oldest first."""
    return jsonify([entry_document(web_state().contest.store, one) for one in _own(_team())])


@blueprint.get("/<int:number>")
def show(number: int) -> Response:
    """One entry of the team, as it stands now."""
    store = web_state().contest.store
    found = next((one for one in _own(_team()) if one.id == number), None)
    return jsonify(entry_document(store, found or store.submission(0)))


def _own(team: str) -> list[Submission]:
    """The uploads of a team that it may see: those on hold-out sets, once their figures are out."""
    state = web_state()
    out = {one.name for one in state.contest.config.tracks if is_out(one, state.clock.utc())}
    made = (one for one in state.contest.store.submissions() if one.team == team and one.job)
    return [one for one in made if one.split == PUBLIC or one.track in out]


def _team() -> str:
    """Whose request it is: by HTTP Basic, or by the token of a run or of `log_in`. Raises as these do."""
    state, given = web_state(), request.authorization
    if given is not None and given.type == "basic":
        team = given.username or ""
        require_password(team, given.password or "")
        return team
    try:
        team = session_of(state, request.environ).team
    except SessionRefused:
        team = session_of(state, request.environ, salt=tokens.ENTRIES).team
    state.contest.store.require_team(team)
    return team
