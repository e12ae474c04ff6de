"""Entries by upload: a team's files for the tracks, with its password or a token, whenever it likes."""

from __future__ import annotations

from flask import Blueprint, Response, jsonify, request

from referee.config.tracks import RESULTS
from referee.errors import RefereeError
from referee.tracks.submissions.entries import entry_document, require_open, take_entry
from referee.tracks.submissions.open_track import configured_track
from referee.tracks.submissions.publishing import is_final_shown
from referee.tracks.submissions.results_files import PUBLIC
from referee.tracks.submissions.submitting import LARGEST_MODEL_BYTES
from referee.web.bodies import parts_of_body, stated_length
from referee.web.login import require_password
from referee.web.sessions import session_of
from referee.web.slots import too_many_requests
from referee.web.state import web_state

LARGEST_RESULTS_BYTES = 256 * 2**20

blueprint = Blueprint("entries", __name__, url_prefix="/v1/entries")


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
        made = take_entry(state.entries, config, team, file, body)
    finally:
        state.upload_slots.release(team)
    state.entries.ask()
    return jsonify(entry_document(state.contest.store, made)), 202


@blueprint.get("")
@blueprint.get("/<number>")
def show(number: str | None = None) -> Response:
    """The team's entries, oldest first, or one of them, as they stand now; on hold-out sets once that is published."""
    team, state = _team(), web_state()
    now, tracks = state.clock.utc(), state.contest.config.tracks
    out = {one.name for one in tracks if is_final_shown(state.contest, one, now)}
    own = [one for one in state.contest.store.submissions() if one.team == team and one.job]
    seen = {str(one.id): one for one in own if one.split == PUBLIC or one.track in out}
    if any(one.measurement is None for one in seen.values()):
        state.entries.ask()  # another process may have restored one
    if number is None:
        return jsonify([entry_document(state.contest.store, one) for one in seen.values()])
    if number not in seen:
        raise RefereeError("entry-unknown", f"The team {team} has no entry {number!r:.20}.")
    return jsonify(entry_document(state.contest.store, seen[number]))


def _team() -> str:
    """Whose request it is: by HTTP Basic, or by the token of a run."""
    given = request.authorization
    if given is None or given.type != "basic":
        team = session_of(web_state(), request.environ).team
        web_state().contest.store.require_team(team)
        return team
    require_password(given.username or "", given.password or "")
    return given.username or ""
