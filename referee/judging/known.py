"""Which scorings are known: a run's job by its name, its result in the store, and that of an earlier ground truth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from referee.clock import Clock
from referee.contest import Contest
from referee.detections.plausibility import limits_by_number
from referee.judging.case import restricted_to, were_served
from referee.judging.judge import ground_truth_of
from referee.judging.scoring_job import Scored, name_of, object_digests, scored_from, stem_of
from referee.store import Store
from referee.store.records import Run


@dataclass(frozen=True)
class ScoringJob:
    """The name of a run's scoring, and that of the same with any ground truth."""

    name: str
    stem: str


def job_of(contest: Contest, run: Run) -> ScoringJob:
    """The scoring of a run by the contest's metric and ground truth. Reads no rows. Raises TestSetError."""
    store, config, test_set = contest.store, contest.config, contest.test_set
    order = store.image_order(run.id)
    served = were_served(order, store.served_images(run.id), len(test_set.images))
    bodies, limits = store.body_digests(run.id), limits_by_number(test_set)
    stem = stem_of(config.metric, config.count_unserved, bodies, order, served, limits)
    objects = _objects(test_set.folder, test_set.digest, np.sort(order).tobytes())
    return ScoringJob(name_of(stem, objects), stem)


def stored_scoring(store: Store, job: ScoringJob) -> Scored | None:
    """The result of a job, or None."""
    found = store.scoring(job.name)
    return None if found is None else scored_from(*found)


def known_of(store: Store, job: ScoringJob) -> Scored | None:
    """The newest result of the same run by another ground truth."""
    found = store.scoring_of_stem(job.stem)
    return None if found is None else scored_from(*found)


def store_scoring(store: Store, job: ScoringJob, found: Scored, clock: Clock) -> None:
    """Keep the result of a job, which ends it."""
    samples = None if found.resampled is None else found.resampled.astype("<f8").tobytes()
    store.add_scoring(job.name, job.stem, found.figures, samples, clock.utc())


@lru_cache(8)
def _objects(folder: Path, digest: str, images: bytes) -> dict[int, str]:
    ground_truth = ground_truth_of(folder, digest)
    return object_digests(restricted_to(ground_truth, np.frombuffer(images, np.int64)))
