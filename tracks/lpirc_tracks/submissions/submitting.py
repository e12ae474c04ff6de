"""Turns a model that a team hands in into a stored, judged submission.

Every model that is accepted for measurement uses up one of the team's submissions of the day, even if it then crashes,
never ends or needs too much memory. Such a model is listed as not valid. These cost nothing: a model that the validator
refuses, an invalid result document, a measurement that fails for any other reason, and one with an unstable latency.
The last is stored, and the model is measured again.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from lpirc_tracks import Measured, Verdict
from lpirc_tracks.submissions.document_fields import bad
from lpirc_tracks.submissions.kept_models import keep_model, kept_model, model_bytes
from lpirc_tracks.submissions.measuring_lock import (
    Record,
    handing_in_lock,
    measuring_lock,
)
from lpirc_tracks.submissions.open_track import OpenTrack, configured_track
from lpirc_tracks.submissions.result_document import (
    ResultDocument,
    parse_result,
    says_same,
)
from lpirc_tracks.submissions.results_files import PUBLIC
from lpirc_tracks.submissions.stability import disturbance
from lpirc_tracks.submissions.track_board import outcome_of
from referee.clock import Clock
from referee.contest import Contest
from referee.errors import ModelCrashed, RefereeError, WrongDevice
from referee.store.acts import Act
from referee.store.model_records import ModelMeasurement, Submission

PLAIN = {
    "settings.channels": "RGB",
    "settings.mean": [0, 0, 0],
    "settings.sigma": [1, 1, 1],
}
"""The only input settings that a document may state; a track's model does all other preprocessing itself."""
ATTEMPTS = 3  # to measure a stable latency

Bench = Callable[[Path], bytes]
"""Measures the model in a file and returns the result document; raises ModelCrashed, or another RefereeError."""

Doubt = Callable[[ResultDocument], str | None]
"""Returns why a document must be reviewed, or None if it need not be."""


@dataclass(frozen=True)
class Order:
    """A team and what it hands in.

    `result` is a document measured by `measured_by` (None: by the team). Without `result` the model is measured here.
    """

    team: str
    model: Path | None
    build: str
    result: bytes | None = None
    measured_by: str | None = None


def submit(
    contest: Contest,
    track: OpenTrack,
    order: Order,
    validate: Callable[[Path], None],
    bench: Bench,
    clock: Clock,
    act: Act | None = None,
) -> Submission:
    """Accept a model, measure it unless that was done elsewhere, judge it, and return the stored submission.

    Raises RefereeError: `team-unknown`, `bad-build`, `model-unreadable`, `submission-limit`, `bench-busy`,
    `bad-result`, `wrong-device`, `result-repeated`, and what `validate` raises. It also raises what `bench` raises, and
    gives the submission up, unless the model crashed.
    """
    contest.store.teams.require(order.team)
    _require_build(order.build)
    data = b"" if order.model is None else model_bytes(order.model)
    file, sha256 = (
        ("", "")
        if order.model is None
        else (order.model.name, hashlib.sha256(data).hexdigest())
    )
    who = (track.name, order.team, track.split, order.build)
    counts = track.split == PUBLIC
    made = Submission(
        0, "", *who, file, sha256, track.digest, counts, measured_by=order.measured_by
    )
    if made.counts:  # before any work; and again when the submission is accepted
        limit = configured_track(contest, track.name).submissions_per_day
        contest.store.submissions.require_below_limit(
            track.name, order.team, limit, clock.utc()
        )
    if order.result is None and order.model is not None:
        _require_device(contest, track, platform.node(), "A model is measured here")
        with measuring_lock(contest, clock) as record:
            validate(order.model)
            return _carry_out(contest, track, made, data, bench, record, clock, act)
    content = order.result or b""
    document = parse_result(content)
    if document.is_elsewhere and order.measured_by is None:
        raise bad(
            "another program than lpirc-harness made it; name who measured the model with --measured-by NAME"
        )
    if order.model is not None and not document.is_elsewhere:
        validate(order.model)
    check_result(contest, track, document, made.model_sha256)
    judge(track, document)
    with handing_in_lock(contest) as record:
        _require_new(contest, made, document)
        kept = (
            b"" if document.is_elsewhere else data
        )  # a model for another runtime cannot be measured again
        return _carry_out(
            contest, track, made, kept, lambda _: content, record, clock, act
        )


def measure_again(
    contest: Contest,
    track: OpenTrack,
    earlier: Submission,
    build: str,
    bench: Bench,
    clock: Clock,
    act: Act | None = None,
) -> Submission:
    """Measure a stored model again, in another build or on the other test set; this counts towards no limit.

    Raises RefereeError `bad-build`, `wrong-device`, `bench-busy`, `model-missing`, and what `bench` raises unless the
    model crashed.
    """
    _require_build(build)
    _require_device(contest, track, platform.node(), "A model is measured here")
    data = kept_model(contest, earlier)
    made = replace(earlier, split=track.split, build=build, testset_digest=track.digest)
    made = replace(made, counts=False, job=None)
    with measuring_lock(contest, clock) as record:
        return _carry_out(contest, track, made, data, bench, record, clock, act)


def to_measure_again(
    submissions: Sequence[Submission], split: str, build: str
) -> list[Submission]:
    """Return the oldest submission of each team's models that have no measurement by that program build on `split`.

    A measurement that was broken off, is in review or has an unstable latency is repeated. A model that failed, or
    whose submissions are withdrawn, is not measured again.
    """
    standing = [
        one
        for one in submissions
        if one.withdrawn is None and one.measurement is not None
    ]
    settled = [one for one in standing if not one.has_no_place]
    done = {
        (one.team, one.model_sha256)
        for one in settled
        if (one.split, one.build) == (split, build)
    }
    wanted: dict[tuple[str, str], Submission] = {}
    for one in standing:
        key = (one.team, one.model_sha256)
        outcome = one.measurement if one.measured_by is None else None
        if key not in done and outcome is not None and outcome.measured is not None:
            wanted.setdefault(key, one)
    return list(wanted.values())


def _carry_out(
    contest: Contest,
    track: OpenTrack,
    made: Submission,
    data: bytes,
    bench: Bench,
    record: Record,
    clock: Clock,
    act: Act | None,
) -> Submission:
    """Accept, store and measure a model. If that fails for a reason other than the model, give the submission up."""
    limit = configured_track(contest, track.name).submissions_per_day
    accepted = contest.store.submissions.accept(made, clock.utc(), limit, act=act)
    try:
        record(accepted.id)
        file = made.model_file
        sha256 = made.model_sha256
        kept = (
            keep_model(contest.folder, data, sha256, file) if data else contest.folder
        )
        measure(contest, track, accepted, bench, kept, clock)
    except BaseException as failure:
        contest.store.entries.give_up(accepted.id, _reason(failure))
        raise
    return contest.store.submissions.get(accepted.id)


def measure(
    contest: Contest,
    track: OpenTrack,
    accepted: Submission,
    bench: Bench,
    model: Path,
    clock: Clock,
    doubt: Doubt = lambda _: None,
) -> None:
    """Bench an accepted model and store the outcome. Raises RefereeError as `submit`."""
    try:
        for _ in range(ATTEMPTS):
            content = bench(model)
            document = parse_result(content)
            unstable = disturbance(document)
            if unstable is None:
                break
    except ModelCrashed as failure:
        sentence = failure.sentence.replace(
            model.name, accepted.model_file
        )  # the name that the team knows
        failed = ModelMeasurement(
            clock.utc().isoformat(), valid=False, sentence=sentence
        )
        contest.store.submissions.add_measurement(accepted.id, failed)
        return
    check_result(contest, track, document, accepted.model_sha256)
    measured, verdict = judge(track, document)
    outcome = ModelMeasurement(
        clock.utc().isoformat(),
        device=document["device.host"],
        measured=asdict(measured),
        confined=document.get("confinement.confined"),
        **outcome_of(verdict),
    )
    if document.values.get("energy") is not None:
        official = document["energy.official"]
        outcome = replace(
            outcome, meter=document["energy.meter"], meter_official=official
        )
    if unstable is not None:
        sentence = f"the latency is unstable, {unstable}."
        outcome = replace(
            outcome,
            valid=False,
            sentence=sentence,
            metric=None,
            figures={},
            unstable=True,
        )
    elif outcome.valid:
        outcome = replace(outcome, doubt=doubt(document))
    contest.store.submissions.add_measurement(accepted.id, outcome, content)


def judge(track: OpenTrack, document: ResultDocument) -> tuple[Measured, Verdict]:
    """Judge a document's run by the track's rule, without other entries. Raises RefereeError if it cannot be judged."""
    energy = document.values.get("energy")
    measured = Measured(
        accuracy_percent=track.accuracy_percent(document),
        latency_ms=document["latency.mean_ms"],
        images=document["images.count"],
        processed=document["processed"],
        total_s=document["latency.total_s"],
        longest_ms=document["latency.max_ms"],
        energy_wh=None
        if energy is None
        else energy["inference_wh"] * document["processed"],
    )
    return measured, track.rule.judge(measured)


def check_result(
    contest: Contest, track: OpenTrack, document: ResultDocument, model_sha256: str
) -> None:
    """Raise RefereeError `bad-result` or `wrong-device` unless the document is of this model, test set and device."""
    images = len(track.test_set.images)
    wanted: dict[str, Any] = {"task": track.rule.task, "images.count": images}
    wanted["images.sha256"] = track.images_sha256
    if not document.is_elsewhere:
        wanted |= {
            "preprocessing": track.rule.preprocessing,
            "settings.threads": track.rule.threads,
        }
        wanted |= {"model.sha256": model_sha256}
        wanted |= {
            path: value
            for path, value in PLAIN.items()
            if document.get(path) is not None
        }
    for path, value in wanted.items():
        if document[path] != value:
            needed = f"the track {track.name} needs {value!r}"
            if path == "model.sha256":
                needed = f"the submitted model has the SHA-256 {value!r}; submit the model that was benched"
            elif path.startswith("images."):
                needed += "; bench the model on the images of the track's test set"
            raise bad(f"{path} is {document[path]!r}, {needed}")
    budget_s = track.rule.budget_s(images)
    used_s = document.get("settings.budget_s")
    if (
        budget_s is not None
        and not document.is_elsewhere
        and (used_s is None or used_s > budget_s)
    ):
        raise bad(
            f"settings.budget_s is {used_s}, the budget for {images} images is {budget_s:g}"
        )
    if track.rule.needs_energy and document.values.get("energy") is None:
        raise bad(
            f"energy is null, the track {track.name} needs it; bench the model with --meter"
        )
    _require_device(contest, track, document["device.host"], "This was measured")


def _require_device(contest: Contest, track: OpenTrack, host: str, what: str) -> None:
    """Raise RefereeError `wrong-device` unless measurements on this host count: see `expected_devices`."""
    expected = expected_devices(contest, track.name)
    if expected and host not in expected:
        names = " and ".join(map(repr, expected))
        board = f"the board of the track {track.name} lists measurements on {names}; measure the model there."
        raise WrongDevice(
            "wrong-device", f"{what} on {host!r}, but {board}", device=host
        )


def expected_devices(contest: Contest, track: str) -> tuple[str, ...]:
    """Return the hosts whose measurements are accepted: those configured, else the first not withdrawn submission's."""
    configured = configured_track(contest, track)
    if configured.devices or configured.device:
        return configured.devices or (configured.device,)
    standing = (
        one.measurement
        for one in contest.store.submissions.all(track)
        if one.withdrawn is None
    )
    return next(
        ((one.device,) for one in standing if one is not None and one.device), ()
    )


def _reason(failure: BaseException) -> str:
    if isinstance(failure, KeyboardInterrupt):
        return "the measurement was interrupted"
    if isinstance(failure, OSError) and failure.strerror:
        return (
            f"{failure.filename}: {failure.strerror}"
            if failure.filename
            else failure.strerror
        )
    return str(failure) or type(failure).__name__


def _require_build(build: str) -> None:
    if not build.strip() or not build.isprintable():
        raise RefereeError("bad-build", f"The build {build!r} must be a line of text.")


def _require_new(contest: Contest, made: Submission, document: ResultDocument) -> None:
    """Raise RefereeError if the same measurement was handed in before: a copy is not another build."""
    for one in contest.store.submissions.all(made.track):
        is_same_model = (one.team, one.model_sha256, one.split) == (
            made.team,
            made.model_sha256,
            made.split,
        )
        former = (
            contest.store.submissions.result(one.id)
            if is_same_model and one.withdrawn is None
            else None
        )
        if former is not None and says_same(json.loads(former), document.values):
            words = "to submit it for another build, measure the model again."
            earlier = (
                f"This result document was handed in already, as submission {one.id}"
            )
            raise RefereeError("result-repeated", f"{earlier}; {words}")
