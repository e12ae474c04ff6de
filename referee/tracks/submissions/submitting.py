"""From a model that a team hands in to a stored, judged submission.

What uses up one of a team's submissions of the day: whatever was accepted for measurement, also a model that then
crashes, never ends or wants too much memory; it is listed as not valid. What the validator refuses, a result document
that cannot be taken, and a measurement that the house broke off cost nothing.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from referee.clock import Clock
from referee.contest import Contest
from referee.errors import RefereeError
from referee.files.atomic_write import write_whole
from referee.store.records import ModelMeasurement, Submission
from referee.store.submissions import submission_limit
from referee.tracks import Measured, Verdict
from referee.tracks.submissions.open_track import PUBLIC, OpenTrack, configured_track
from referee.tracks.submissions.result_document import ResultDocument, parse_result, says_same
from referee.tracks.submissions.result_fields import bad
from referee.tracks.submissions.turns import Tell, handing_in_turn, measuring_turn

MODELS = "models"
LARGEST_MODEL_BYTES = 500 << 20
# What a model does to itself; any other failure of a bench is the house's.
MODEL_FAULTS = frozenset(
    {"model-crashed", "model-ended", "model-timeout", "out-of-memory", "model-failed", "wrong-count"}
)

Bench = Callable[[Path], bytes]
"""Measures the model in a file and returns the result document; raises RefereeError, one of MODEL_FAULTS or another."""


@dataclass(frozen=True)
class Order:
    """Who hands in what. `result` is a document made on another device; None: the model is measured here."""

    team: str
    model: Path
    build: str
    result: bytes | None = None

    def handed_in(self, model: Path) -> bytes:
        """The result document that came with the model, in place of a bench."""
        del model
        return self.result or b""


def submit(
    contest: Contest,
    track: OpenTrack,
    order: Order,
    validate: Callable[[Path], None],
    bench: Bench,
    clock: Clock,
) -> Submission:
    """Accept a model, measure it unless that was done elsewhere, judge and store it; the submission with its outcome.

    Raises RefereeError: `team-unknown`, `bad-build`, `model-unreadable`, `submission-limit`, `bench-busy`,
    `bad-result`, `wrong-device`, `result-repeated`, what `validate` refuses; and whatever kept the house from
    measuring: then the submission is withdrawn.
    """
    _require_team(contest, order.team)
    _require_build(order.build)
    limit = configured_track(contest, track.name).submissions_per_day
    data = _model_bytes(order.model)
    sha256 = hashlib.sha256(data).hexdigest()
    _require_room(contest, track, order, limit, clock)
    made = Submission(
        id=0,
        accepted_utc="",
        track=track.name,
        team=order.team,
        split=track.split,
        build=order.build,
        model_file=order.model.name,
        model_sha256=sha256,
        testset_digest=track.digest,
        counts=track.split == PUBLIC,
    )

    def accept(bench: Bench, tell: Tell) -> Submission:
        accepted = contest.store.accept_submission(made, clock.utc(), limit)
        with _withdrawn_on_failure(contest, accepted):
            tell(accepted.id)
            _measure(contest, track, accepted, bench, keep_model(contest.folder, data, sha256), clock)
        return contest.store.submission(accepted.id)

    if order.result is None:
        _require_device(contest, track, platform.node(), "A model is measured here")
        with measuring_turn(contest, clock) as tell:
            validate(order.model)
            return accept(bench, tell)
    validate(order.model)
    document = parse_result(order.result)
    check_result(contest, track, document, sha256)
    judge(track, document)
    with handing_in_turn(contest) as tell:
        _require_new(contest, track, order.team, document)
        return accept(order.handed_in, tell)


def measure_again(
    contest: Contest, track: OpenTrack, earlier: Submission, build: str, bench: Bench, clock: Clock
) -> Submission:
    """Measure a kept model again, in another build or on the other test set; that counts towards no limit.

    Raises RefereeError `bad-build`, `wrong-device`, `bench-busy`, `model-missing` and whatever kept the house from
    measuring.
    """
    _require_build(build)
    _require_device(contest, track, platform.node(), "A model is measured here")
    kept = contest.folder / MODELS / f"{earlier.model_sha256}.tflite"
    if not _is_whole(kept, earlier.model_sha256):
        raise RefereeError(
            "model-missing", f"The model of submission {earlier.id}, {kept}, is gone or damaged; restore it."
        )
    made = replace(earlier, split=track.split, build=build, testset_digest=track.digest, counts=False)
    with measuring_turn(contest, clock) as tell:
        accepted = contest.store.accept_submission(made, clock.utc(), limit=0)
        with _withdrawn_on_failure(contest, accepted):
            tell(accepted.id)
            _measure(contest, track, accepted, bench, kept, clock)
    return contest.store.submission(accepted.id)


def to_measure_again(submissions: Sequence[Submission], split: str, build: str) -> list[Submission]:
    """Each team's models that no submission of that build has measured on `split`, by the oldest submission.

    A model that failed is not tried again, nor one whose submissions are withdrawn; a measurement that was broken off
    is.
    """
    standing = [one for one in submissions if one.withdrawn is None and one.measurement is not None]
    done = {(one.team, one.model_sha256) for one in standing if (one.split, one.build) == (split, build)}
    wanted: dict[tuple[str, str], Submission] = {}
    for one in standing:
        key = (one.team, one.model_sha256)
        if key not in done and one.measurement is not None and one.measurement.measured is not None:
            wanted.setdefault(key, one)
    return list(wanted.values())


@contextmanager
def _withdrawn_on_failure(contest: Contest, accepted: Submission) -> Iterator[None]:
    try:
        yield
    except BaseException as failure:
        contest.store.withdraw_submission(accepted.id, _reason(failure))
        raise


def judge(track: OpenTrack, document: ResultDocument) -> tuple[Measured, Verdict]:
    """What a document's run is worth by the track's rule, by itself. Raises RefereeError for what cannot be judged."""
    energy = document.values.get("energy")
    energy_wh = None if energy is None else document["energy.inference_wh"] * document["processed"]
    measured = Measured(
        accuracy_percent=track.accuracy_percent(document),
        latency_ms=document["latency.mean_ms"],
        images=document["images.count"],
        processed=document["processed"],
        total_s=document["latency.total_s"],
        longest_ms=document["latency.max_ms"],
        energy_wh=energy_wh,
    )
    return measured, track.rule.measure(measured)


def check_result(contest: Contest, track: OpenTrack, document: ResultDocument, model_sha256: str) -> None:
    """Raise RefereeError `bad-result` or `wrong-device` unless the document is of this model, test set and device."""
    images = len(track.test_set.images)
    wanted = {
        "task": track.rule.task,
        "preprocessing": track.rule.preprocessing,
        "settings.threads": track.rule.threads,
        "images.count": images,
        "images.sha256": track.images_sha256,
        "model.sha256": model_sha256,
    }
    for path, value in wanted.items():
        if document[path] != value:
            needed = f"the track {track.name} needs {value!r}"
            if path == "model.sha256":
                needed = f"the model handed in has {value!r}; hand in the one that was benched"
            elif path.startswith("images."):
                needed += "; bench the model on the images of the track's test set"
            raise bad(f"{path} is {document[path]!r}, {needed}")
    budget_s, used_s = track.rule.budget_s(images), document["settings.budget_s"]
    if budget_s is not None and (used_s is None or used_s > budget_s):
        raise bad(f"settings.budget_s is {used_s}, the budget for {images} images is {budget_s:g}")
    if track.rule.needs_energy and document.values.get("energy") is None:
        raise bad(f"energy is null, the track {track.name} needs it; bench the model with --meter")
    _require_device(contest, track, document["device.host"], "This was measured")


def device_of(contest: Contest, track: str) -> str | None:
    """The host whose measurements count on a track: the configured one, else that of the first that stands."""
    configured = configured_track(contest, track).device
    if configured:
        return configured
    standing = (one.measurement for one in contest.store.submissions(track) if one.withdrawn is None)
    return next((one.device for one in standing if one is not None and one.device), None)


def _require_device(contest: Contest, track: OpenTrack, host: str, what: str) -> None:
    expected = device_of(contest, track.name)
    if expected and host != expected:
        raise RefereeError(
            "wrong-device",
            f"{what} on {host!r}, but the board of the track {track.name} is that of {expected!r}; measure the "
            "model there.",
            device=host,
        )


def keep_model(folder: Path, data: bytes, sha256: str) -> Path:
    """Keep a model in the contest folder under its SHA-256; the same model once."""
    models = folder / MODELS
    models.mkdir(mode=0o700, exist_ok=True)
    path = models / f"{sha256}.tflite"
    if not _is_whole(path, sha256):
        write_whole(path, data)
    return path


def _is_whole(kept: Path, sha256: str) -> bool:
    try:
        return kept.is_file() and hashlib.sha256(kept.read_bytes()).hexdigest() == sha256
    except OSError:  # damaged
        return False


def handed_in_bytes(path: Path, most: int, what: str) -> bytes:
    """The first `most` bytes of the file that is a team's `what`: "model", "result".

    Raises RefereeError `model-unreadable`, `result-unreadable`.
    """
    reason: str | None = "it is no regular file"  # a pipe would be waited for
    try:
        if path.is_file() or not path.exists():
            with path.open("rb") as file:
                return file.read(most)
    except OSError as error:
        reason = error.strerror
    raise RefereeError(f"{what}-unreadable", f"The {what} {path} cannot be read: {reason}.")


def _measure(
    contest: Contest, track: OpenTrack, accepted: Submission, bench: Bench, model: Path, clock: Clock
) -> None:
    try:
        content = bench(model)
    except RefereeError as failure:
        if failure.code not in MODEL_FAULTS:
            raise
        sentence = failure.sentence.replace(model.name, accepted.model_file)  # as the team calls it
        failed = ModelMeasurement(clock.utc().isoformat(), valid=False, sentence=sentence)
        contest.store.add_measurement(accepted.id, failed)
        return
    document = parse_result(content)
    check_result(contest, track, document, accepted.model_sha256)
    measured, verdict = judge(track, document)
    outcome = ModelMeasurement(
        clock.utc().isoformat(),
        valid=verdict.is_valid,
        sentence=verdict.sentence,
        device=document["device.host"],
        meter=None if document.values.get("energy") is None else document["energy.meter"],
        metric=verdict.value,
        measured=asdict(measured),
        figures=dict(verdict.figures),
    )
    contest.store.add_measurement(accepted.id, outcome, content)


def _reason(failure: BaseException) -> str:
    if isinstance(failure, KeyboardInterrupt):
        return "the measurement was interrupted"
    if isinstance(failure, OSError) and failure.strerror:
        return f"{failure.filename}: {failure.strerror}" if failure.filename else failure.strerror
    return str(failure) or type(failure).__name__


def _require_build(build: str) -> None:
    if not build.strip() or not build.isprintable():
        raise RefereeError("bad-build", f"The build {build!r} must be a line of text.")


def _require_team(contest: Contest, team: str) -> None:
    teams = contest.store.teams()
    if team not in teams or teams[team]:
        why = "is disabled" if team in teams else "is not registered; see: referee team add"
        raise RefereeError("team-unknown", f"The team {team!r} {why}.")


def _require_new(contest: Contest, track: OpenTrack, team: str, document: ResultDocument) -> None:
    """One measurement is no second build, and should not use up a second submission by mistake."""
    wanted = (team, document["model.sha256"], track.split)
    for one in contest.store.submissions(track.name):
        if (one.team, one.model_sha256, one.split) != wanted or one.withdrawn is not None:
            continue
        former = contest.store.submission_result(one.id)
        if former is not None and says_same(json.loads(former), document.values):
            raise RefereeError(
                "result-repeated",
                f"This result document was handed in already, as submission {one.id}; measure the model again "
                "for another build.",
            )


def _require_room(contest: Contest, track: OpenTrack, order: Order, limit: int, clock: Clock) -> None:
    """Tell a team before any work; what counts is told again when the submission is accepted."""
    now = clock.utc()
    used = contest.store.submissions_used(track.name, order.team, now)
    if track.split == PUBLIC and used >= limit:
        raise submission_limit(track.name, order.team, used, limit, now.date())


def _model_bytes(path: Path) -> bytes:
    if not path.name.isprintable():
        raise RefereeError(
            "model-unreadable", f"The model's name {path.name!r} cannot be printed; rename it."
        )
    data = handed_in_bytes(path, LARGEST_MODEL_BYTES + 1, "model")
    if len(data) > LARGEST_MODEL_BYTES:
        raise RefereeError(
            "model-too-large", f"The model {path} is larger than {LARGEST_MODEL_BYTES >> 20} MB."
        )
    return data
