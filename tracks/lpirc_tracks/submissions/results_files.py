"""Results files of a track: the test set with its secret part, and worker processes that check and score."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import threading
from concurrent.futures import Future
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from shutil import rmtree
from typing import Any

import numpy as np

from lpirc_score import STRICT, Detections
from lpirc_score.analysis.halves import HALVES, SEED, half_maps
from lpirc_score.detections.files.forms import is_json
from lpirc_score.detections.files.submission_reader import read_submission
from lpirc_score.metrics.evaluation import evaluated
from lpirc_score.metrics.evaluation_result import RULES_VERSION
from lpirc_testsets import (
    GroundTruth,
    TestSet,
    TestSetError,
    load_test_set,
    read_ground_truth,
)
from lpirc_tracks import Measured, track_named
from lpirc_tracks.measured import LEAST
from lpirc_tracks.submissions.kept_columns import COLUMNS, read_columns, write_columns
from lpirc_tracks.submissions.second_copies import require_file
from referee.clock import Clock
from referee.config.tracks import MODELS, RESULTS, ModelTrack
from referee.contest import Contest, require_metric
from referee.errors import RefereeError
from referee.judging.run_case import restricted_to
from referee.store.model_records import JobKind, ModelMeasurement, Submission
from referee.workers import Workers
from referee.workers.job_dispatch import Task, carry_out
from referee.workers.worker_processes import LocalWorkers

MOST_PROBLEMS = 1000
LARGEST_JSON_BYTES = 64 * 2**20  # reading it takes 13 times as much
PUBLIC = "public"
HOLDOUT = "holdout"
RETRY_S = 30.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class ResultsSet:
    """The test set of a track, scored by `metric`; the share `part` of its images, drawn by `key`, is held out."""

    test_set: TestSet
    metric: str
    part: float
    key: bytes

    def digest(self, split: str) -> str:
        """Return a digest that identifies images, ground truth, metric and hold-out part."""
        return _digest(
            self.test_set.digest, self.metric, self.part, self.key.hex(), split
        )

    def job(self, split: str, file_sha256: str) -> str:
        """Return the name of the job that scores a file: a hash of everything that determines the result."""
        return _digest(
            "entry-2", RULES_VERSION, HALVES, SEED, self.digest(split), file_sha256
        )

    def columns(self, folder: Path, file_sha256: str) -> Path:
        """Return the path for a file's columns in a contest folder; it is a hash of file, images and rules."""
        return (
            folder
            / COLUMNS
            / f"{_digest('columns-1', RULES_VERSION, self.test_set.digest, file_sha256)}.npz"
        )

    def images(self, split: str) -> list[int]:
        """Return the numbers of a split's images: an image is held out if its keyed hash is below `part`."""
        drawn = (
            (one, hmac.digest(self.key, one.sha256.encode(), "sha256"))
            for one in self.test_set.images
        )
        below = (
            (one, int.from_bytes(draw[:8], "big") < self.part * 2**64)
            for one, draw in drawn
        )
        return [
            one.number
            for one, is_held_out in below
            if is_held_out == (split == HOLDOUT)
        ]


def results_set(contest: Contest, config: ModelTrack) -> ResultsSet:
    """Return the test set of a track for results files.

    Raises RefereeError `bad-config`, `testset-empty`, `testset-unfit` (the draw leaves a split without images);
    TestSetError.
    """
    metric = config.metric or contest.config.metric
    require_metric(metric, f"Track {config.name!r}")
    key = hmac.digest(contest.secret, f"holdout {config.name}".encode(), "sha256")
    test_set = load_test_set(contest.folder / config.testset)
    if not test_set.images:
        raise RefereeError(
            "testset-empty", f"{test_set.folder} has no images to score a file on."
        )
    part = 0.0 if config.holdout_until is None else config.holdout_part
    found = ResultsSet(test_set, metric, part, key)
    if not found.images(PUBLIC) or (part and not found.images(HOLDOUT)):
        words = f"{len(test_set.images)} images are too few for holdout_part = {part:g}: the draw left one part empty"
        raise RefereeError(
            "testset-unfit",
            f"Track {config.name!r}: {words}; use more images, or another holdout_part.",
        )
    return found


def check_file(path: Path, of: ResultsSet, columns: Path) -> dict[str, str]:
    """Check a file, and return the digests of the splits that it will be scored on; its detections go to `columns`.

    Raises as `read_submission` does; reading stops after 1,000 problems.
    """
    _, given = _read(path, of)
    write_columns(columns, given)
    return {split: of.digest(split) for split in (PUBLIC, HOLDOUT) if of.images(split)}


def score_file(
    path: Path, of: ResultsSet, split: str, digest: str, columns: Path
) -> tuple[float, int, bytes]:
    """Score a checked file on a split: return its mAP, the number of images, and the mAPs of the half-samples.

    The half-samples' mAPs are (HALVES,) float64, as bytes. The detections are read from `columns` if they are kept
    there.

    Raises RefereeError `entry-outdated`, and as `read_submission` and `evaluate` do.
    """
    if of.digest(split) != digest:
        sentence = "Test set or metric have changed since; a newer entry has its score."
        raise RefereeError("entry-outdated", sentence)
    given = read_columns(columns)
    images = np.array(of.images(split), np.int64)
    if given is None:
        whole, given = _read(path, of)
        write_columns(columns, given)
    else:
        whole = read_ground_truth(of.test_set.folder)
    truth = restricted_to(whole, images)
    kept = np.isin(given.image, images)
    present = {
        name: column for name, column in vars(given).items() if column is not None
    }
    own = Detections(**{name: column[kept] for name, column in present.items()})
    found = evaluated(truth, own, of.metric)
    halves = half_maps(truth, own, of.metric)
    return found.map or 0.0, len(images), halves.astype("<f8").tobytes()


def _read(path: Path, of: ResultsSet) -> tuple[GroundTruth, Detections]:
    """Return the ground truth of the whole set and the detections of a file; errors do not name the file's path."""
    if (size := path.stat().st_size) > LARGEST_JSON_BYTES and is_json(path):
        words = f"at most {LARGEST_JSON_BYTES >> 20} MiB are accepted. Send CSV, which may be larger."
        raise RefereeError("too-large", f"The JSON file has {size} bytes; {words}")
    whole = read_ground_truth(of.test_set.folder)
    try:
        return whole, read_submission(
            path,
            whole,
            STRICT,
            MOST_PROBLEMS,
            stops=True,
            only_text=True,
        ).detections
    except RefereeError as error:
        error.facts.pop("file", None)
        raise RefereeError(
            error.code, error.sentence.removeprefix(f"{path}: "), **error.facts
        ) from error


def kept_upload(contest: Contest, one: Submission) -> Path:
    """Return the path where the file of an upload is stored."""
    return (
        contest.folder
        / MODELS
        / f"{one.model_sha256}{Path(one.model_file).suffix.lower()}"
    )


class EntryDesk:
    """Scores checked results files, one at a time, in a process of low priority."""

    def __init__(self, contest: Contest, clock: Clock) -> None:
        self.contest = contest
        self.clock = clock
        self._asked = threading.Semaphore()
        self._scoring = threading.Lock()
        self._stop = threading.Event()

    @cached_property
    def workers(self) -> LocalWorkers:
        """The worker process, started with the first file."""
        return LocalWorkers(1)

    def ask(self) -> None:
        """Request that waiting files are scored soon, including those from before a restart."""
        if self._asked.acquire(blocking=False):
            threading.Thread(target=self._score, name="entries", daemon=True).start()

    def close(self) -> None:
        """Stop, and put the file that is being scored back into the queue."""
        self._stop.set()
        with self._scoring:
            if "workers" in vars(self):
                self.workers.close()

    def _score(self) -> None:
        with self._scoring:
            self._asked.release()
            # Once asked to stop, do not use the database: it may be closed.
            is_over = self._stop.is_set() or self._all_are_scored()
        if not is_over and not self.clock.wait(
            self._stop, self.clock.monotonic_s() + RETRY_S
        ):
            self.ask()

    def _all_are_scored(self) -> bool:
        """Score waiting files. Return False if some must wait until the operator fixes the contest."""
        tracks = {config.name: config for config in self.contest.config.tracks}
        try:
            for one in self._waiting():
                if one.track not in tracks:
                    self._end(
                        one,
                        False,
                        f"The contest has no track {one.track} any more.",
                        unstable=True,
                    )
            results = [
                config for config in tracks.values() if config.rule_name == RESULTS
            ]
            for config in results:
                try:
                    self._accept_again(config)
                    for one in self._waiting(config.name):
                        self._carry_out(config, one)
                except (RefereeError, TestSetError) as error:
                    logger.error("the track %s: %s", config.name, error.sentence)  # noqa: TRY400
            is_done = not any(self._waiting(config.name) for config in results)
        except RefereeError as error:
            logger.error("entries cannot be scored at present: %s", error.sentence)  # noqa: TRY400
            return False
        if is_done and not self.contest.store.submissions.unchecked():
            rmtree(self.contest.folder / COLUMNS, ignore_errors=True)
        return is_done

    def _waiting(self, track: str | None = None) -> list[Submission]:
        standing = (
            one
            for one in self.contest.store.submissions.all(track)
            if one.job and not one.withdrawn
        )
        return [
            one for one in standing if one.measurement is None and not one.is_unchecked
        ]

    def _accept_again(self, config: ModelTrack) -> None:
        """Accept entries again that were handed in before the set was corrected, so that they get a new score."""
        store = self.contest.store
        of = results_set(self.contest, config)
        newest = {
            (one.model_key, one.split): one
            for one in store.submissions.all(config.name)
        }
        for one in newest.values():
            digest = of.digest(one.split)
            job = of.job(one.split, one.model_sha256)
            is_of_another = one.testset_digest != digest and not one.is_unchecked
            if one.withdrawn is None and is_of_another and of.images(one.split):
                again = replace(one, testset_digest=digest, job=job, counts=False)
                store.submissions.accept(again, self.clock.utc(), 0, JobKind.SCORING)

    def _is_withdrawn(self, one: Submission) -> bool:
        return self.contest.store.submissions.get(one.id).withdrawn is not None

    def _carry_out(self, config: ModelTrack, one: Submission) -> None:
        if self._is_withdrawn(one):  # since it was listed
            return
        store = self.contest.store
        name = one.job or ""
        of = results_set(self.contest, config)
        path = kept_upload(self.contest, one)
        columns = of.columns(self.contest.folder, one.model_sha256)
        try:
            require_file(self.contest, path)
        except RefereeError as error:
            logger.error("entry %d cannot be scored now: %s", one.id, error.sentence)  # noqa: TRY400
            return

        def start(workers: Workers) -> Future[Any]:
            return workers.submit(
                score_file, path, of, one.split, one.testset_digest or "", columns
            )

        def found() -> None:
            mean_ap, images = json.loads((store.jobs.scoring(name) or ("",))[0])
            measured = Measured(100 * mean_ap, LEAST, images, images, LEAST)
            verdict = track_named(RESULTS).measure(measured)
            self._end(
                one,
                True,
                verdict.sentence,
                metric=verdict.value,
                measured=asdict(measured),
            )

        def done(result: tuple[float, int, bytes]) -> None:
            store.jobs.add_scoring(
                name, name, json.dumps(result[:2]), result[2], self.clock.utc()
            )
            found()

        failed = partial(self._end, one, False, unstable=True)
        task = Task(f"submission {one.id}", start, done, found, failed)
        carry_out(store, {name: task}, self.workers, self.clock, self._stop)

    def _end(self, one: Submission, valid: bool, sentence: str, **figures: Any) -> None:
        """Store the outcome.

        A failure of a withdrawn entry is not stored: the entry is scored again if it is restored.
        """
        if not valid and self._is_withdrawn(one):
            return
        made = ModelMeasurement(
            self.clock.utc().isoformat(), valid, sentence, **figures
        )
        self.contest.store.submissions.add_measurement(one.id, made)


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
