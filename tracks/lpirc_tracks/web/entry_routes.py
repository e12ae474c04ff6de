"""Routes for entries: a team uploads files for the tracks at any time, with its password or a token.

A file is dated and acknowledged as soon as it is on disk. A client that asks to wait also gets the outcome of the
check.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flask import Blueprint, Response, jsonify, request

from lpirc_tracks.submissions.entries import entry_document
from lpirc_tracks.submissions.kept_models import LARGEST_MODEL_BYTES
from lpirc_tracks.submissions.open_track import configured_track
from lpirc_tracks.submissions.publishing import is_final_shown
from lpirc_tracks.submissions.receiving import (
    Offer,
    receive_body,
    require_takes,
    upload_document,
)
from lpirc_tracks.submissions.results_files import PUBLIC, results_set
from lpirc_tracks.web.background import background
from referee.config.tracks import RESULTS, ModelTrack
from referee.errors import RefereeError
from referee.store.model_records import Submission
from referee.web.app_parts import part
from referee.web.callers import Callers, session_of
from referee.web.concurrency_limits import ConcurrencyLimits, too_many_requests
from referee.web.query_parameters import require_known
from referee.web.request_bodies import parts_of_body, stated_length
from referee.web.request_slots import release_slot
from referee.web.team_login import require_password
from referee.web.web_request import present_request

LARGEST_RESULTS_BYTES = 256 * 2**20
LONGEST_WAIT_S = 60
UPLOAD_PARAMETERS = ("track", "name", "wait", "replaces")
SHOW_PARAMETERS = ("wait",)

blueprint = Blueprint("entries", __name__, url_prefix="/v1/entries")


@blueprint.post("")
def hand_in() -> tuple[Response, int]:
    """Receive a file as an entry that waits for its check; with `wait`, answer with the outcome of the check."""
    team = team_of_request()
    state = part(Callers)
    require_known(request.args, UPLOAD_PARAMETERS)
    wait_s = _wait_s()
    track = request.args.get("track", "")
    file = request.args.get("name", "")
    offer = offer_of(team, track, file, request.args.get("replaces"))
    length = stated_length(request.environ, most_bytes(offer.config), "")
    state.contest.store.posts.require_room(length)
    with upload_slot(team):
        made = receive_body(
            state.contest, state.clock, offer, parts_of_body(present_request(), length)
        )
    background().checks.ask()
    if wait_s:
        background().checks.wait(made.id, wait_s)
    shown = document_of(state.contest.store.submissions.get(made.id))
    if shown["state"] == "refused":
        problem = dict(shown["problem"])
        code = problem.pop("code")
        sentence = problem.pop("detail")
        until = shown["replaceable_until_utc"]
        about = {
            "entry": made.id,
            "receipt": shown["receipt"],
            "replaceable_until_utc": until,
        }
        raise RefereeError(code, sentence, **about, **problem)
    return jsonify(shown), 202


@blueprint.get("")
@blueprint.get("/<number>")
def show(number: str | None = None) -> Response:
    """Answer with the team's entries, oldest first, or one of them, in their current state.

    Figures on hold-out sets are included once they are published.
    """
    team = team_of_request()
    state = part(Callers)
    wait_s = 0
    if number is not None:
        require_known(request.args, SHOW_PARAMETERS)
        wait_s = _wait_s()
    seen = {str(one.id): one for one in _seen_by(team)}
    if any(one.measurement is None for one in seen.values()):
        background().entries.ask()  # another process may have restored one
        background().checks.ask()
    if number is None:
        return jsonify([document_of(one) for one in seen.values()])
    if number not in seen:
        raise RefereeError(
            "entry-unknown", f"The team {team} has no entry {number!r:.20}."
        )
    if wait_s and seen[number].is_unchecked:
        with upload_slot(team):
            background().checks.wait(seen[number].id, wait_s)
    return jsonify(document_of(state.contest.store.submissions.get(seen[number].id)))


def entries_of(team: str) -> list[dict[str, Any]]:
    """Return the documents of a team's entries, oldest first."""
    return [document_of(one) for one in _seen_by(team)]


def _seen_by(team: str) -> list[Submission]:
    """Return the entries that a team may see, oldest first: those on hold-out sets once they are published."""
    state = part(Callers)
    now = state.clock.utc()
    tracks = state.contest.config.tracks
    out = {one.name for one in tracks if is_final_shown(state.contest, one, now)}
    return [
        one
        for one in state.contest.store.submissions.all()
        if one.team == team and one.job and (one.split == PUBLIC or one.track in out)
    ]


def team_of_request() -> str:
    """Return the team of a request, from HTTP Basic or from the token of a run."""
    given = request.authorization
    if given is None or given.type != "basic":
        team = session_of(part(Callers), present_request()).team
        part(Callers).contest.store.teams.require(team)
        return team
    require_password(given.username or "", given.password or "")
    return given.username or ""


def offer_of(team: str, track: str, file: str, replaces: str | None) -> Offer:
    """Return the offer of a team. Raises RefereeError, before any byte is read, unless it may be made now."""
    contest = part(Callers).contest
    config = configured_track(contest, track)
    if replaces is not None and not (
        replaces.isascii() and replaces.isdigit() and len(replaces) <= 12
    ):
        raise RefereeError(
            "not-replaceable", f"replaces={replaces:.20} is not the number of an entry."
        )
    offer = Offer(config, team, file, None if replaces is None else int(replaces))
    require_takes(contest, offer, part(Callers).clock.utc())
    if config.rule_name == RESULTS:
        results_set(contest, config)
    return offer


def most_bytes(config: ModelTrack) -> int:
    """Return the largest size in bytes of a file for a track."""
    return LARGEST_RESULTS_BYTES if config.rule_name == RESULTS else LARGEST_MODEL_BYTES


@contextmanager
def upload_slot(team: str) -> Iterator[None]:
    """Move the request from the slots of unknown clients to those of uploads.

    Raises RefereeError `too-many-requests`.
    """
    slots = part(ConcurrencyLimits).uploads
    if not slots.acquire(team):
        raise too_many_requests()
    release_slot(present_request())
    try:
        yield
    finally:
        slots.release(team)


def document_of(one: Submission) -> dict[str, Any]:
    """Return an entry as its team sees it, with its receipt."""
    contest = part(Callers).contest
    shown = entry_document(contest.store, one)
    if one.split == PUBLIC:
        shown |= upload_document(contest, one)
    if shown["state"] in ("received", "checking"):
        waiting = [other.id for other in background().checks.waiting()]
        shown["place"] = waiting.index(one.id) + 1 if one.id in waiting else 1
    return shown


def _wait_s() -> int:
    """Return how long the client wants to wait. Raises RefereeError `bad-request`."""
    given = request.args.get("wait", "0")
    if not (given.isascii() and given.isdigit() and len(given) <= 9):
        raise RefereeError(
            "bad-request",
            f"wait={given:.20} must be a whole number of seconds; values above {LONGEST_WAIT_S} are treated as "
            f"{LONGEST_WAIT_S}.",
        )
    return min(int(given), LONGEST_WAIT_S)
