"""Results files of a track: the set that they are of, its secret parts, and their scores, for a worker process."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lpirc_testsets import TestSet, load_test_set, read_ground_truth
from referee.config.tracks import ModelTrack
from referee.contest import Contest
from referee.detections.files import read_submission
from referee.errors import RefereeError
from referee.judging.case import restricted_to
from referee.judging.scoring_job import RESAMPLES, SEED
from referee.scoring import METRICS, STRICT, Detections, evaluate
from referee.scoring.bootstrap import BOOTSTRAP_METRICS, bootstrap_samples, centred
from referee.scoring.result import RULES_VERSION

MOST_PROBLEMS = 1000
PUBLIC, HOLDOUT = "public", "holdout"


@dataclass(frozen=True)
class ResultsSet:
    """The test set of a track, by `metric`; `part` of its images, chosen with `key`, is the hold-out set."""

    test_set: TestSet
    metric: str
    part: float
    key: bytes

    def digest(self, split: str) -> str:
        """Identifies images, ground truth, metric and part."""
        return _digest(self.test_set.digest, self.metric, self.part, self.key.hex(), split)

    def job(self, split: str, file_sha256: str) -> str:
        """The name of the job that scores a file: a hash of all that the result follows from."""
        return _digest("entry-1", RULES_VERSION, RESAMPLES, SEED, self.digest(split), file_sha256)

    def images(self, split: str) -> list[int]:
        """The numbers of the images of a split: whose draw, by a hash with the key, lies below `part`, or not."""
        drawn = (
            (one.number, hmac.digest(self.key, one.sha256.encode(), "sha256")) for one in self.test_set.images
        )
        below = {number: int.from_bytes(draw[:8], "big") < self.part * 2**64 for number, draw in drawn}
        return [number for number, is_held_out in below.items() if is_held_out == (split == HOLDOUT)]


def results_set(contest: Contest, config: ModelTrack) -> ResultsSet:
    """The set of a track for results files. Raises RefereeError `bad-config`, TestSetError."""
    metric = config.metric or contest.config.metric
    if metric not in METRICS:
        words = f"metric = {metric!r} is unknown; the metrics are {', '.join(METRICS)}."
        raise RefereeError("bad-config", f"Track {config.name!r}: {words}")
    key = hmac.digest(contest.secret, f"holdout {config.name}".encode(), "sha256")
    is_own = config.testset == contest.config.testset
    test_set = contest.test_set if is_own else load_test_set(contest.folder / config.testset)
    return ResultsSet(test_set, metric, 0.0 if config.holdout_until is None else config.holdout_part, key)


def check_results(path: Path, of: ResultsSet) -> dict[str, str]:
    """The digests of the splits that a file is scored on. Raises as `read_submission`, with 1,000 problems."""
    read_submission(path, read_ground_truth(of.test_set.folder), STRICT, MOST_PROBLEMS)
    found = {split: of.digest(split) for split in ((PUBLIC, HOLDOUT) if of.part else (PUBLIC,))}
    for split in found:
        if not of.images(split):
            words = (
                f"The {split} part of the test set has no image; tell the operator to change holdout_part."
            )
            raise RefereeError("testset-unfit", words)
    return found


def score_results(path: Path, of: ResultsSet, split: str) -> tuple[float, int, bytes | None]:
    """The mAP of a kept file on a split, the number of images, and the mAPs of its resamples (R,) as float64.

    Raises RefereeError `entry-damaged`, and as `read_submission` and `evaluate` do.
    """
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != path.stem:
            raise RefereeError("entry-damaged", "The kept file is damaged; hand it in again.")
    whole, images = read_ground_truth(of.test_set.folder), np.array(of.images(split), np.int64)
    truth, given = restricted_to(whole, images), read_submission(path, whole).detections
    kept = np.isin(given.image, images)
    columns: dict[str, Any] = {name: None if column is None else column[kept] for name, column in vars(given).items()}
    own = Detections(**columns)
    found, maps = evaluate(truth, own, of.metric), None
    if of.metric in BOOTSTRAP_METRICS:
        samples = bootstrap_samples(truth, own, of.metric, RESAMPLES, SEED)
        maps = centred(samples, found.map).astype("<f8").tobytes()
    return found.map, len(images), maps


def _digest(*parts: object) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
