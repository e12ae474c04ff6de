"""Models that wait for a device: it leases one at a time, and hands in what the harness says of it.

A result document is judged like one that an operator hands in, a fault of the model is its outcome, and any other
failure gives the job back. Nothing is stored of a job that is over: no model is measured twice.
"""

from __future__ import annotations

import logging
import math
from datetime import datetime
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from lpirc_testsets import TestSetError
from referee.clock import Clock
from referee.config.tracks import ModelTrack
from referee.contest import Contest
from referee.errors import ModelCrashed, ModelFault, RefereeError, WrongDevice
from referee.store.model_records import JobKind, JobState, Submission
from referee.store.submissions import lease_lost
from referee.tracks.submissions import harness
from referee.tracks.submissions.fields import bad
from referee.tracks.submissions.metering import DEFAULT_LOOP_S
from referee.tracks.submissions.open_track import OpenTrack, open_track, rule_of
from referee.tracks.submissions.result_document import parse_result
from referee.tracks.submissions.results_files import HOLDOUT
from referee.tracks.submissions.submitting import Doubt, expected_devices, measure

LEASE_S = 30.0
SETUP_S = 300.0  # to start the harness, and to load and check the model
PASSES = 10  # twice as many as the harness makes: its budget leaves out the preprocessing
UNBUDGETED_IMAGE_S = 1.0  # of a rule without a budget
RENEWALS_BY_LEASE = 3  # as the client does
IMAGES_BY_RENEWAL = 25  # fetching them renews the lease, too; the client fetches 50 at a time
SPARE_RENEWALS = 20
METER = "meter-"
"""How the codes of lpirc_power begin: a meter that failed says nothing of a model, as a device that vanished."""

logger = logging.getLogger(__name__)


def next_work(contest: Contest, device: str, clock: Clock) -> dict[str, Any] | None:
    """Lease the oldest model that a device may measure, and say how; None: none waits, or it has one already.

    A device that has said that it has a meter measures energy, whatever the track; others get no track that needs it.
    """
    store, now = contest.store, clock.utc()
    leases = [job.lease_until_utc or "" for job in store.jobs(JobState.LEASED) if job.worker == device]
    if max(leases, default="") > now.isoformat():
        return None
    has_meter = device in store.meters()
    may_measure = _tracks_of(contest, device, now, has_meter=has_meter)
    for made in store.queued_submissions(JobKind.MEASURING):
        if made.track in may_measure and store.lease_job(JobKind.MEASURING, device, now, LEASE_S, made.job):
            try:
                work = _work(track_of(contest, made), made, device, has_meter=has_meter)
            except (RefereeError, TestSetError) as error:  # only the operator can put this right
                logger.error("submission %d cannot be measured: %s", made.id, error)  # noqa: TRY400
                reason = f"The track {made.track} is not set up well; the referee's log says what is wrong."
                store.give_job_back(str(made.job), device, reason, now)
                continue
            store.limit_renewals(str(made.job), device, work["renewals"])
            return work
    return None


def _tracks_of(contest: Contest, device: str, now: datetime, *, has_meter: bool) -> frozenset[str]:
    """The tracks whose models a device may measure.

    Where no device is named, and none has measured yet, whoever is at the first model keeps the track: a second
    device's result could not be compared with it.
    """
    store = contest.store
    holders = {
        job.name: job.worker
        for job in store.jobs(JobState.LEASED)
        if job.lease_until_utc and job.lease_until_utc > now.isoformat()
    }
    at_work: dict[str, set[str | None]] = {}
    for made in store.queued_submissions(JobKind.MEASURING):
        if made.job in holders:
            at_work.setdefault(made.track, set()).add(holders[made.job])
    found = set()
    for track in contest.config.tracks:
        expected = expected_devices(contest, track.name)
        is_able = has_meter or not _needs_energy(contest, track)
        if is_able and device in (expected or at_work.get(track.name) or {device}):
            found.add(track.name)
    return frozenset(found)


def _needs_energy(contest: Contest, track: ModelTrack) -> bool:
    try:
        return rule_of(contest, track).needs_energy
    except RefereeError:  # said when a model of it is leased
        return False


def limit_s(track: OpenTrack) -> float:
    """The seconds after which a harness that still runs is hung, by the budget of the track's rule."""
    images = len(track.test_set.images)
    budget_s = track.rule.budget_s(images)
    if budget_s is None:
        budget_s = images * UNBUDGETED_IMAGE_S
    return SETUP_S + PASSES * budget_s


def _work(track: OpenTrack, made: Submission, device: str, *, has_meter: bool) -> dict[str, Any]:
    rule, count = track.rule, len(track.test_set.images)
    bench = {"preprocessing": rule.preprocessing, "threads": rule.threads, "budget_s": rule.budget_s(count)}
    if has_meter:
        bench["energy_loop_s"] = DEFAULT_LOOP_S
    longest_s = limit_s(track)
    renewals = math.ceil(longest_s / LEASE_S * RENEWALS_BY_LEASE + count / IMAGES_BY_RENEWAL) + SPARE_RENEWALS
    work: dict[str, Any] = {"job": made.job, "device": device, "lease_s": LEASE_S}
    work |= {"limit_s": longest_s, "renewals": renewals}
    work |= {"track": made.track, "split": made.split}
    work |= {"model": {"name": made.model_file, "sha256": made.model_sha256}}
    work |= {"images": {"count": count, "sha256": track.images_sha256}}
    return work | {"bench": harness.of_rule(rule) | bench}


def track_of(contest: Contest, made: Submission) -> OpenTrack:
    """The track and test set that a submission is measured on. Raises RefereeError, TestSetError as `open_track`."""
    return open_track(contest, made.track, holdout=made.split == HOLDOUT, to_run=False)


def leased(contest: Contest, job: str, device: str, clock: Clock) -> Submission:
    """The submission of a job that a device is at; renews the lease. Raises RefereeError `lease-lost`.

    A device that renewed its lease too often loses it: its harness has hung, and another device may be whole.
    """
    store = contest.store
    if store.renew_leases([job], device, clock.utc(), LEASE_S):
        for made in store.queued_submissions(JobKind.MEASURING):
            if made.job == job:
                return made
    for held in store.jobs(JobState.LEASED):
        if (held.name, held.worker, held.renewals_left) == (job, device, 0):
            sentence = f"{device} did not finish before the last renewal of its lease; its harness hangs: restart it."
            store.give_job_back(job, device, sentence, clock.utc(), lost=True)
            raise RefereeError("lease-lost", sentence)
    raise lease_lost("this job")


def take_outcome(
    contest: Contest,
    made: Submission,
    device: str,
    printed: bytes,
    *,
    failed: bool,
    clock: Clock,
    doubt: Doubt,
) -> str:
    """Store what the harness printed, or says of the model if it `failed`, and return its sentence.

    `doubt` looks at a valid result before it is stored.

    Raises RefereeError `not-measured` for any other failure, after giving the job back.
    """

    def bench(_: Path) -> bytes:
        if failed:
            error = harness.failure(CompletedProcess([], 1, printed, printed))
            raise ModelCrashed(error.code, error.sentence) if isinstance(error, ModelFault) else error
        document = parse_result(printed)
        if document.is_elsewhere or document["device.host"] != device:
            raise bad(f"lpirc-harness on {device!r} must have made it, not {document['device.host']!r}")
        return printed

    # The harness has ended: what renews the lease from here on is the referee's own look at the result.
    contest.store.limit_renewals(str(made.job), device, None)
    try:
        measure(contest, track_of(contest, made), made, bench, Path(made.model_sha256), clock, doubt)
    except (RefereeError, TestSetError) as error:
        is_lost = isinstance(error, RefereeError) and error.code.startswith(METER)
        is_its_fault = not isinstance(error, WrongDevice) and not is_lost
        reason, now = str(error), clock.utc()
        contest.store.give_job_back(str(made.job), device, reason, now, failed=is_its_fault, lost=is_lost)
        raise RefereeError("not-measured", str(error)) from error
    outcome = contest.store.submission(made.id).measurement
    if outcome is None:
        return ""
    return outcome.sentence if outcome.doubt is None else f"{outcome.sentence} In review: {outcome.doubt}"
