"""Calibrates devices: each measures its track's calibration model before models of teams.

A device whose result is too far from those of the other devices gets no work. A calibration is leased and handed in
like the model of a team, but belongs to no team: it is on no board and uses up no attempt.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta
from pathlib import Path

from lpirc_testsets import TestSetError
from lpirc_testsets.folder import LABELS, MANIFEST
from lpirc_tracks.submissions.calibration import (
    by_how_much,
    contradiction,
    difference,
    is_due,
)
from lpirc_tracks.submissions.kept_models import (
    LARGEST_MODEL_BYTES,
    keep_model,
    read_submitted,
)
from lpirc_tracks.submissions.open_track import OpenTrack, configured_track
from lpirc_tracks.submissions.result_document import ResultDocument, parse_result
from lpirc_tracks.submissions.results_files import PUBLIC
from lpirc_tracks.submissions.stability import disturbance
from lpirc_tracks.submissions.submitting import (
    Bench,
    Doubt,
    check_result,
    expected_devices,
    judge,
)
from referee.clock import Clock
from referee.config.tracks import ModelTrack
from referee.contest import Contest
from referee.errors import DeviceDoubted, RefereeError
from referee.store.job_table import MOST_FAILURES
from referee.store.model_records import Calibration, Device, Job, JobState, Submission

PRESENT = timedelta(minutes=5)
"""Time without a request after which a device counts as switched off, so that nothing waits for it."""


def is_present(device: Device | None, now: datetime) -> bool:
    """Return True if a device is registered and enabled, and has sent a request recently."""
    if device is None or device.disabled is not None or device.seen_utc is None:
        return False
    return now - datetime.fromisoformat(device.seen_utc) <= PRESENT


def digest_of(contest: Contest, config: ModelTrack, model_sha256: str) -> str:
    """Return the digest of model, test set and rule; calibrations are comparable if it is equal.

    Raises RefereeError.
    """
    found = hashlib.sha256(
        f"{model_sha256} {config.rule_name} {sorted(config.settings.items())}".encode()
    )
    for name in (MANIFEST, LABELS):
        path = contest.folder / config.testset / name
        try:
            found.update(
                path.read_bytes() if name == MANIFEST or path.exists() else b""
            )
        except OSError as error:
            raise RefereeError(
                "testset-unreadable", f"{path} cannot be read: {error.strerror}."
            ) from error
    return found.hexdigest()


def next_calibration(
    contest: Contest, device: str, track: str, now: datetime
) -> Submission | None:
    """Return the calibration that a device must measure before any model of a track, or None if none is due.

    Raises RefereeError `model-unreadable`, `testset-unreadable`, `track-unknown`.
    """
    config = configured_track(contest, track)
    if not config.calibration:
        return None
    data, sha256, digest = _model(contest, config)
    of_model = [
        one
        for one in contest.store.calibrations.of_track(track, device)
        if one.digest == digest
    ]
    waiting = [
        one
        for one in of_model
        if one.measured_utc is None and _job(contest, one).state is JobState.WAITING
    ]
    if waiting:
        return submission_of(waiting[-1])
    newest = _newest(contest, config, digest).get(device)
    measured_utc = None if newest is None else newest.measured_utc
    results = (
        0
        if measured_utc is None
        else contest.store.calibrations.measured_since(track, device, measured_utc)
    )
    if not is_due(newest, results, now):
        return None
    keep_model(contest.folder, data, sha256, config.calibration)
    return submission_of(_add(contest, config, device, now, (sha256, digest)))


def why_no_work(contest: Contest, device: str, track: str, now: datetime) -> str | None:
    """Return why a device named for a track gets no models of the track, or None if it gets some."""
    config = configured_track(contest, track)
    if not config.calibration:
        return None
    try:
        _, _, digest = _model(contest, config)
    except RefereeError as error:
        return f"the calibration model is not available: {error.sentence}"
    pool = _newest(contest, config, digest)
    own = pool.get(device)
    if own is None:
        return "the device has not been calibrated yet."
    if own.doubt is not None:
        return f"its calibration is in doubt: {own.doubt}"
    counted = [one for one in pool.values() if one.doubt is None]
    words, is_near = by_how_much(own, counted)
    if not is_near:
        return f"its calibration took {words}."
    awaited = _awaited(contest, config, pool, now) if len(counted) == 1 else []
    if awaited:
        return f"its calibration cannot be compared until another device is calibrated: {', '.join(awaited)}."
    return None


def calibrated(contest: Contest, device: str, track: str) -> str | None:
    """Return, in words, how far a device's calibration differs from its pool; None without a valid calibration."""
    config = configured_track(contest, track)
    if not config.calibration:
        return None
    try:
        _, _, digest = _model(contest, config)
    except RefereeError:
        return None
    pool = _newest(contest, config, digest)
    counted = [one for one in pool.values() if one.doubt is None]
    return (
        by_how_much(pool[device], counted)[0]
        if device in pool and pool[device].doubt is None
        else None
    )


def take(
    contest: Contest,
    calibration: Calibration,
    track: OpenTrack,
    bench: Bench,
    clock: Clock,
    doubt: Doubt,
) -> str:
    """Store a device's result for the calibration model, and return the sentence for the answer.

    A device that contradicts its earlier calibrations, or fails too often, is disabled.

    Raises RefereeError `not-measured` if the result is no calibration; the calibration must then be repeated.
    """
    store = contest.store
    device = calibration.device
    try:
        content = bench(Path(calibration.model_file))
        document = parse_result(content)
        _require_stable(document)
        check_result(contest, track, document, calibration.model_sha256)
        measured, _ = judge(track, document)
        doubted = doubt(document)
    except (RefereeError, TestSetError) as error:
        job = store.jobs.give_back(
            calibration.job, device, str(error), clock.utc(), failed=True
        )
        if (job.state, job.worker) == (JobState.FAILED, device):
            words = f"its calibration on {track.name} failed {MOST_FAILURES} times; last error: {error}"
            store.devices.disable(device, words, clock.utc())
        raise RefereeError("not-measured", str(error)) from error
    figures = measured.latency_ms, measured.accuracy_percent
    store.calibrations.add_result(
        calibration.job, figures, doubted, content, clock.utc()
    )
    return _judged(contest, calibration, clock.utc())


def _require_stable(document: ResultDocument) -> None:
    unstable = disturbance(document)
    if unstable is not None:
        raise RefereeError("unstable", f"The latency is unstable, {unstable}.")


def require_consistent(
    contest: Contest,
    made: Submission,
    device: str,
    document: ResultDocument,
    track: OpenTrack,
    now: datetime,
) -> None:
    """Raise DeviceDoubted if a device's results for the same model differ; it must calibrate before more work.

    A model may vary its own latency, so a difference alone disables no device: otherwise a team could disable them all.
    The first result after a calibration is not compared, so such a model is measured eventually.
    """
    config = configured_track(contest, made.track)
    store = contest.store
    if not config.calibration:
        return
    _, sha256, digest = _model(contest, config)
    newest = _newest(contest, config, digest).get(device)
    if newest is None or newest.measured_utc is None:
        return
    if store.calibrations.measured_since(made.track, device, newest.measured_utc) == 0:
        return
    earlier = _results_of(contest, made, device)
    if not earlier:
        return
    measured, _ = judge(track, document)
    for figures in earlier:
        found = difference(figures, (measured.latency_ms, measured.accuracy_percent))
        if found is not None:
            _add(contest, config, device, now, (sha256, digest))
            store.log.append(
                now,
                None,
                "device-doubted",
                device=device,
                submission=made.id,
                difference=found,
            )
            sentence = (
                f"{device}'s results for this model differ: {found}. "
                "The device must calibrate again before it measures more models."
            )
            raise DeviceDoubted("device-doubted", sentence)


def submission_of(calibration: Calibration) -> Submission:
    """Return a calibration in the form of a submission, from a team without a name."""
    one = calibration
    named = f"model{Path(one.model_file).suffix}"
    about = (one.track, "", PUBLIC, "", named, one.model_sha256, one.digest)
    return Submission(one.id, one.utc, *about, counts=False, job=one.job)


def _model(contest: Contest, config: ModelTrack) -> tuple[bytes, str, str]:
    """Return the calibration model, its SHA-256, and the digest of everything that determines its figures.

    Raises RefereeError.
    """
    path = contest.folder / config.calibration
    data = read_submitted(path, LARGEST_MODEL_BYTES, "model")
    sha256 = hashlib.sha256(data).hexdigest()
    return data, sha256, digest_of(contest, config, sha256)


def _add(
    contest: Contest,
    config: ModelTrack,
    device: str,
    now: datetime,
    model: tuple[str, str],
) -> Calibration:
    file = Path(config.calibration).name
    job = secrets.token_hex(32)
    wanted = Calibration(
        0, job, device, config.name, model[0], file, model[1], now.isoformat()
    )
    return contest.store.calibrations.add(wanted, now)


def _counting(
    contest: Contest, config: ModelTrack, digest: str
) -> dict[str, list[Calibration]]:
    """Return, for each device of the pool, its results since it was last enabled, oldest first."""
    known = contest.store.devices.all()
    found = dict[str, list[Calibration]]()
    pool = expected_devices(contest, config.name)
    for one in contest.store.calibrations.of_track(config.name):
        device = known.get(one.device)
        if device is None or device.disabled is not None or one.device not in pool:
            continue
        if one.digest == digest and (one.measured_utc or "") > (
            device.enabled_utc or ""
        ):
            found.setdefault(one.device, []).append(one)
    return found


def _newest(
    contest: Contest, config: ModelTrack, digest: str
) -> dict[str, Calibration]:
    return {
        device: made[-1] for device, made in _counting(contest, config, digest).items()
    }


def _awaited(
    contest: Contest, config: ModelTrack, pool: dict[str, Calibration], now: datetime
) -> list[str]:
    """Return the devices of the pool that will calibrate soon: present devices whose calibration has not failed."""
    known = contest.store.devices.all()
    others = [one for one in expected_devices(contest, config.name) if one not in pool]
    made = [
        one
        for one in contest.store.calibrations.of_track(config.name)
        if one.device in others
    ]
    failed = {one.device for one in made if _job(contest, one).failed_on}
    return [
        one for one in others if is_present(known.get(one), now) and one not in failed
    ]


def _judged(contest: Contest, calibration: Calibration, now: datetime) -> str:
    device = calibration.device
    track = calibration.track
    config = configured_track(contest, track)
    made = _counting(contest, config, calibration.digest).get(device, [])
    sound = [one for one in made if one.doubt is None]
    newest = made[-1] if made else None
    contradicted = None
    if newest is not None and newest.doubt is None:
        contradicted = contradiction(newest, sound[:-1])
    if contradicted is not None:
        contest.store.devices.disable(device, f"{contradicted}.", now)
        return f"{device} is disabled: {contradicted}."
    reason = why_no_work(contest, device, track, now)
    where = calibrated(contest, device, track)
    facts: dict[str, object] = {
        "device": device,
        "track": track,
        "calibration": calibration.id,
    }
    contest.store.log.append(
        now, None, "device-calibrated", **facts, found=where, no_work=reason
    )
    return (
        f"calibrated: {where or 'in doubt'}."
        if reason is None
        else f"calibrated, but gets no work: {reason}"
    )


def _results_of(
    contest: Contest, made: Submission, device: str
) -> list[tuple[float, float]]:
    """Return (latency [ms], accuracy [%]) of a device's results for that model and test set since it was enabled."""
    enabled_utc = contest.store.devices.all()[device].enabled_utc or ""
    found = []
    for one in contest.store.submissions.all(made.track):
        outcome = one.measurement
        if (one.model_sha256, one.testset_digest) != (
            made.model_sha256,
            made.testset_digest,
        ):
            continue
        if (
            outcome is None
            or outcome.measured is None
            or outcome.unstable
            or outcome.device != device
        ):
            continue
        if outcome.measured_utc > enabled_utc:
            found.append(
                (outcome.measured["latency_ms"], outcome.measured["accuracy_percent"])
            )
    return found


def _job(contest: Contest, calibration: Calibration) -> Job:
    return contest.store.jobs.get(calibration.job)
