"""Routes for devices: lease a model to measure, get its images, renew the lease, and hand in results (docs/http.md)."""

from __future__ import annotations

import hashlib
from functools import partial

from flask import Blueprint, Response, g, jsonify, request

from lpirc_tracks.submissions import measuring_queue
from lpirc_tracks.submissions.claims import doubt_of
from lpirc_tracks.submissions.document_fields import LONGEST_TEXT, SHOWN_CHARACTERS
from lpirc_tracks.submissions.kept_models import kept_model
from lpirc_tracks.submissions.result_document import LARGEST_BYTES
from lpirc_tracks.web.background import background
from referee.errors import RefereeError, SessionRefused
from referee.judging.contest_status import program_version
from referee.web.app_parts import part
from referee.web.callers import Callers
from referee.web.contestant.image_batches import CHUNK_BYTES, wanted
from referee.web.contestant.stored_zip import Entry, StoredZip
from referee.web.http_answers import Answer, Stream, through_flask
from referee.web.image_files import ImageFiles
from referee.web.request_bodies import read_body, read_texts
from referee.web.web_request import present_request

RETRY_S = "5"

blueprint = Blueprint("work", __name__, url_prefix="/v1/jobs")


@blueprint.before_request
def authenticate() -> None:
    """Admit registered devices, each only to its leased jobs. Raises RefereeError `bad-token`, `lease-lost`."""
    contest = part(Callers).contest
    clock = part(Callers).clock
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    digest = hashlib.sha256(key.strip().encode()).hexdigest()
    g.device = (
        contest.store.devices.with_key(digest, clock.utc())
        if scheme.lower() == "bearer"
        else None
    )
    if g.device is None:
        raise SessionRefused(
            "bad-token",
            "This is not the newest key of a device; get one with: referee device add NAME",
        )
    present_request().log_in = f"device {g.device}"
    if request.view_args:
        g.made = measuring_queue.leased(
            contest, request.view_args["job"], g.device, clock
        )


@blueprint.post("")
def lease() -> Response:
    """Answer with a model to measure, or 204 if none is waiting for this device."""
    name, theirs, meter = read_texts("name", "version", meter="")
    ours = program_version()
    if name != g.device:
        raise SessionRefused(
            "bad-token", f"The key belongs to device {g.device}, not to {name}."
        )
    if theirs.split(".")[:2] != ours.split(".")[:2]:
        sentence = f"lpirc-client {theirs} is incompatible with the referee's {ours}; install lpirc-client {ours}."
        raise RefereeError("wrong-version", sentence)
    if len(meter) > LONGEST_TEXT or not meter.isprintable():
        sentence = f"meter={meter[:SHOWN_CHARACTERS]!r} must be a line of at most {LONGEST_TEXT} characters."
        raise RefereeError("bad-json", sentence)
    part(Callers).contest.store.devices.say_meter(g.device, meter or None)
    work = measuring_queue.next_work(
        part(Callers).contest, g.device, part(Callers).clock
    )
    return (
        jsonify(work)
        if work
        else Response(status=204, headers={"Retry-After": RETRY_S})
    )


@blueprint.route("/<job>", methods=["PUT", "DELETE"])
def renew(job: str) -> Response:
    """Renew the lease of a job, which every request does anyway, or give the job back."""
    if request.method == "DELETE":
        store = part(Callers).contest.store
        now = part(Callers).clock.utc()
        store.jobs.give_back(job, g.device, f"{g.device} was interrupted.", now)
    return Response(status=204)


@blueprint.get("/<job>/model")
def model(job: str) -> Response:
    """Answer with the model's file."""
    return Response(
        kept_model(part(Callers).contest, g.made),
        content_type="application/octet-stream",
    )


@blueprint.get("/<job>/images")
def images(job: str) -> Response:
    """Answer with images as one zip, named by number, since an original file name may reveal the content."""
    test_set = measuring_queue.track_of(part(Callers).contest, g.made).test_set
    query = request.query_string.decode("latin-1")
    first, count = wanted(query, len(test_set.images))
    files = ImageFiles(test_set, 0)
    numbers = range(first, min(first + count, len(test_set.images) + 1))
    archive = StoredZip(
        [Entry(f"{one}.jpg", files.facts(one), one) for one in numbers], files.read
    )
    headers = [
        ("Content-Type", "application/zip"),
        ("Content-Length", str(archive.size)),
    ]
    chunks = (chunk for chunk, _ in archive.chunks(CHUNK_BYTES))
    return through_flask(Answer(200, headers, Stream(chunks, lambda: None)))


@blueprint.post("/<job>/<any(result, failed):what>")
def hand_in(job: str, what: str) -> Response:
    """Accept the harness's output: the result document, or its failure."""
    printed = read_body(present_request(), LARGEST_BYTES)
    state = part(Callers)
    track = measuring_queue.track_of(state.contest, g.made)
    keep_lease = partial(
        measuring_queue.leased, state.contest, job, g.device, state.clock
    )
    outcome = measuring_queue.take_outcome(
        state.contest,
        g.made,
        g.device,
        printed,
        failed=what == "failed",
        clock=state.clock,
        doubt=partial(doubt_of, background().entries, track, g.made, keep_lease),
    )
    return jsonify(outcome=outcome)
