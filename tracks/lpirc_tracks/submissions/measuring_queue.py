"""Leases waiting models to devices, one at a time, and takes what the harness reports about each.

A result document is judged like one that an operator hands in. A failure of the model is the job's outcome; after any
other failure the job waits again. Nothing is stored for a job that has ended, so no model is measured twice.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from lpirc_testsets import TestSetError
from lpirc_tracks.submissions import calibrating, harness
from lpirc_tracks.submissions.document_fields import bad
from lpirc_tracks.submissions.metered_bench import DEFAULT_LOOP_S
from lpirc_tracks.submissions.open_track import OpenTrack, open_track, rule_of
from lpirc_tracks.submissions.result_document import ResultDocument, parse_result
from lpirc_tracks.submissions.results_files import HOLDOUT
from lpirc_tracks.submissions.submitting import Doubt, expected_devices, measure
from referee.clock import Clock
from referee.config.tracks import ModelTrack
from referee.contest import Contest
from referee.errors import (
    DeviceDoubted,
    ModelCrashed,
    ModelFault,
    RefereeError,
    WrongDevice,
)
from referee.store.model_records import Device, JobKind, JobState, Submission
from referee.store.submission_table import lease_lost
from referee.workers.job_dispatch import LEASE_S

SETUP_S = 300.0  # to start the harness, and to load and check the model
PASSES = (
    10  # twice as many as the harness makes: its budget leaves out the preprocessing
)
UNBUDGETED_IMAGE_S = 1.0  # of a rule without a budget
RENEWALS_BY_LEASE = 3  # as the client does
IMAGES_BY_RENEWAL = (
    25  # fetching them renews the lease, too; the client fetches 50 at a time
)
SPARE_RENEWALS = 20
METER = "meter-"
"""Prefix of the error codes of lpirc_power. Like a vanished device, a failed meter says nothing about the model."""

logger = logging.getLogger(__name__)


def next_work(contest: Contest, device: str, clock: Clock) -> dict[str, Any] | None:
    """Lease the oldest model that a device may measure, and say how to measure it.

    Returns None if no model waits or the device already has one. A track's calibration model comes before those of
    teams. A device that reports a meter measures energy on every track; a device without one gets no track that needs
    energy.
    """
    store = contest.store
    now = clock.utc()
    known = store.devices.all().get(device)
    leases = [
        job.lease_until_utc or ""
        for job in store.jobs.all(JobState.LEASED)
        if job.worker == device
    ]
    if (
        known is None
        or known.disabled is not None
        or max(leases, default="") > now.isoformat()
    ):
        return None
    # Find out which device vanished with a job before leasing it again.
    for kind in (JobKind.CALIBRATING, JobKind.MEASURING):
        store.jobs.give_expired_back(kind, now)
    may_measure = _tracks_of(contest, device, now, has_meter=known.meter is not None)
    for made in _calibrations(contest, device, may_measure, now):
        work = _leased_work(contest, JobKind.CALIBRATING, made, known, now)
        if work is not None:
            return work
    working = {
        track
        for track in may_measure
        if calibrating.why_no_work(contest, device, track, now) is None
    }
    for made in store.submissions.queued(JobKind.MEASURING):
        if made.track in working and not _suits_another(contest, made, device, now):
            work = _leased_work(contest, JobKind.MEASURING, made, known, now)
            if work is not None:
                return work
    return None


def _leased_work(
    contest: Contest, kind: JobKind, made: Submission, device: Device, now: datetime
) -> dict[str, Any] | None:
    """Lease a model and return how to measure it, or None.

    None means that another device has the model, this device has work already, or the track is not set up well.
    """
    store = contest.store
    if not store.jobs.lease(kind, device.name, now, LEASE_S, made.job, alone=True):
        return None
    try:
        work = _work(
            track_of(contest, made),
            made,
            device.name,
            has_meter=device.meter is not None,
        )
    except (
        RefereeError,
        TestSetError,
    ) as error:  # only the operator can put this right
        logger.error("%s cannot be measured: %s", made.model_file, error)  # noqa: TRY400
        reason = (
            f"The track {made.track} has wrong settings; the referee's log says which."
        )
        store.jobs.give_back(str(made.job), device.name, reason, now)
        return None
    store.jobs.limit_renewals(str(made.job), device.name, work["renewals"])
    return work


def _calibrations(
    contest: Contest, device: str, tracks: frozenset[str], now: datetime
) -> Iterator[Submission]:
    for track in sorted(tracks):
        try:
            made = calibrating.next_calibration(contest, device, track, now)
        except RefereeError as error:  # only the operator can put this right
            logger.error("track %s: %s cannot calibrate: %s", track, device, error)  # noqa: TRY400
            continue
        if made is not None:
            yield made


def _suits_another(
    contest: Contest, made: Submission, device: str, now: datetime
) -> bool:
    """Return True if a model failed on this device and another device of its pool may soon take it.

    A device on which the model has failed already does not count as another device.
    """
    failed_on = contest.store.jobs.get(str(made.job)).failed_on
    return device in failed_on and _is_there_another(contest, made, {*failed_on}, now)


def _is_there_another(
    contest: Contest, made: Submission, than: set[str], now: datetime
) -> bool:
    """Return True if a device of a model's pool, other than the devices in `than`, may take the model soon."""
    known = contest.store.devices.all()
    others = set(expected_devices(contest, made.track)) - than
    return any(
        calibrating.is_present(known.get(other), now)
        and calibrating.why_no_work(contest, other, made.track, now) is None
        for other in others
    )


def _tracks_of(
    contest: Contest, device: str, now: datetime, *, has_meter: bool
) -> frozenset[str]:
    """Return the tracks whose models a device may measure.

    If a track names no device and none has measured yet, the device that measures the first model is the only one for
    the track, because results of two devices could not be compared.
    """
    store = contest.store
    holders = {
        job.name: job.worker
        for job in store.jobs.all(JobState.LEASED)
        if job.lease_until_utc and job.lease_until_utc > now.isoformat()
    }
    at_work: dict[str, set[str | None]] = {}
    for made in store.submissions.queued(JobKind.MEASURING):
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
    """Return the seconds after which a running harness is considered hung, from the budget of the track's rule."""
    images = len(track.test_set.images)
    budget_s = track.rule.budget_s(images)
    if budget_s is None:
        budget_s = images * UNBUDGETED_IMAGE_S
    return SETUP_S + PASSES * budget_s


def _work(
    track: OpenTrack, made: Submission, device: str, *, has_meter: bool
) -> dict[str, Any]:
    rule = track.rule
    count = len(track.test_set.images)
    bench = {
        "preprocessing": rule.preprocessing,
        "threads": rule.threads,
        "budget_s": rule.budget_s(count),
    }
    if has_meter:
        bench["energy_loop_s"] = DEFAULT_LOOP_S
    longest_s = limit_s(track)
    renewals = (
        math.ceil(longest_s / LEASE_S * RENEWALS_BY_LEASE + count / IMAGES_BY_RENEWAL)
        + SPARE_RENEWALS
    )
    work: dict[str, Any] = {"job": made.job, "device": device, "lease_s": LEASE_S}
    work |= {"limit_s": longest_s, "renewals": renewals}
    work |= {"track": made.track, "split": made.split}
    work |= {"model": {"name": made.model_file, "sha256": made.model_sha256}}
    work |= {"images": {"count": count, "sha256": track.images_sha256}}
    return work | {"bench": harness.of_rule(rule) | bench}


def track_of(contest: Contest, made: Submission) -> OpenTrack:
    """Open the track on the test set that a submission is measured on.

    Raises RefereeError, TestSetError as `open_track`.
    """
    return open_track(contest, made.track, holdout=made.split == HOLDOUT, to_run=False)


def leased(contest: Contest, job: str, device: str, clock: Clock) -> Submission:
    """Return the submission of a job leased by a device, and renew the lease. Raises RefereeError `lease-lost`.

    A device that has renewed too often loses the lease: its harness hangs, and another device may be in order.
    """
    store = contest.store
    if store.jobs.renew([job], device, clock.utc(), LEASE_S):
        calibration = store.calibrations.of_job(job)
        if calibration is not None:
            return calibrating.submission_of(calibration)
        for made in store.submissions.queued(JobKind.MEASURING):
            if made.job == job:
                return made
    for held in store.jobs.all(JobState.LEASED):
        if (held.name, held.worker, held.renewals_left) == (job, device, 0):
            sentence = f"{device} did not finish before the last renewal of its lease. Its harness hangs; restart it."
            store.jobs.give_back(job, device, sentence, clock.utc(), lost=True)
            raise RefereeError("lease-lost", sentence)
    raise lease_lost("this job")


def _require_confirmed(
    contest: Contest, made: Submission, device: str, fault: ModelFault, now: datetime
) -> None:
    """Raise RefereeError `not-confirmed` for a fault found by the first device, since that device may be broken.

    If the pool has another device, that one tries the model next, and its finding counts.
    """
    job = contest.store.jobs.get(str(made.job))
    if job.failures or not _is_there_another(
        contest, made, {device, *job.failed_on}, now
    ):
        return
    sentence = f"{fault.sentence.removesuffix('.')}, on {device}. Another device will now try the model."
    raise RefereeError("not-confirmed", sentence)


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
    """Store the harness's document, or its failure if `failed`, and return the sentence for the answer.

    `doubt` inspects a valid result before it is stored.

    Raises RefereeError `not-measured` for any failure that is not the model's, after giving the job back.
    """
    calibration = contest.store.calibrations.of_job(str(made.job))

    def bench(_: Path) -> bytes:
        if failed:
            error = harness.failure(CompletedProcess([], 1, printed, printed))
            if not isinstance(error, ModelFault):
                raise error
            if calibration is None:
                _require_confirmed(contest, made, device, error, now)
            raise ModelCrashed(error.code, error.sentence)
        document = parse_result(printed)
        if document.is_elsewhere or document["device.host"] != device:
            raise bad(
                f"the result document must be from lpirc-harness on {device!r}, not on {document['device.host']!r}"
            )
        return printed

    now = clock.utc()
    track = track_of(contest, made)
    # The harness has ended; from here on the referee's own check of the result renews the lease.
    contest.store.jobs.limit_renewals(str(made.job), device, None)
    if calibration is not None:
        return calibrating.take(contest, calibration, track, bench, clock, doubt)

    def doubt_of_both(document: ResultDocument) -> str | None:
        calibrating.require_consistent(contest, made, device, document, track, now)
        return doubt(document)

    try:
        measure(
            contest, track, made, bench, Path(made.model_sha256), clock, doubt_of_both
        )
    except (RefereeError, TestSetError) as error:
        is_lost = isinstance(error, RefereeError) and error.code.startswith(METER)
        is_its_fault = (
            not isinstance(error, WrongDevice | DeviceDoubted) and not is_lost
        )
        reason = str(error)
        contest.store.jobs.give_back(
            str(made.job),
            device,
            reason,
            clock.utc(),
            failed=is_its_fault,
            lost=is_lost,
        )
        raise RefereeError("not-measured", str(error)) from error
    outcome = contest.store.submissions.get(made.id).measurement
    if outcome is None:
        return ""
    return (
        outcome.sentence
        if outcome.doubt is None
        else f"{outcome.sentence} In review: {outcome.doubt}"
    )
