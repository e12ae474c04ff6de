"""Scoring a run that is too large for a worker: by blocks of images, then by categories, bit for bit as in one process.

No process has all of its rows in memory: those of a block are read from the store when a worker is free for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple

import numpy as np
from numpy.typing import NDArray

from lpirc_testsets import GroundTruth
from referee.detections.plausibility import Implausible, implausible
from referee.judging.case import restricted_to, undo_image_order
from referee.judging.scoring_job import (
    CONTEST,
    IMAGE,
    RESAMPLES,
    SEED,
    WITH_UNSERVED,
    Scored,
    ScoringInput,
    object_digests,
)
from referee.scoring.average_precision import mean_known
from referee.scoring.blocks import match_block, score_category
from referee.scoring.bootstrap import BOOTSTRAP_METRICS
from referee.scoring.rules import PUBLISHED
from referee.store import Store
from referee.workers import Workers
from referee.workers.dispatch import mapped

BLOCK_ROWS = 1 << 20
"""Of a block, which may have those of one image more."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Posts = Callable[[], Iterable[Floats]]


def stored_posts(store: Store, run: int) -> Posts:
    """The posts of a stored run as `score_large` takes them."""
    order = store.image_order(run)
    return lambda: (undo_image_order(rows, order) for rows in store.detections_by_post(run))


def score_large(workers: Workers, given: ScoringInput, posts: Posts) -> Scored:
    """The result of `score_whole`, bit for bit, by a metric with one IoU threshold.

    `given` needs no rows. `posts()`, called again for every block, yields them (n, 7) post by post, with the test set's
    image numbers. Raises RefereeError as `score_whole` does, and `unknown-metric` for COCO.
    """
    truth, counted = given.ground_truth, given.served | given.count_unserved
    sizes, found = _looked_through(posts(), counted, given.limits)
    unserved = np.where(given.served, 0, sizes)
    choices = {CONTEST: counted[truth.image_ids]}
    if unserved.any() and not given.count_unserved:
        choices[WITH_UNSERVED] = np.ones(len(truth.image_ids), np.bool_)
    resamples = RESAMPLES if given.metric in BOOTSTRAP_METRICS else 0

    def scored(
        metric: str, counted: Sequence[Bools], resamples: int
    ) -> list[tuple[list[float | None], Floats]]:
        parts = [*mapped(workers, match_block, _blocks(truth, posts, sizes, metric))]
        tasks = ((its, metric, counted, resamples, SEED) for its in zip(*parts, strict=True))
        return [*mapped(workers, score_category, tasks)]

    by_category = scored(given.metric, [*choices.values()], resamples)
    averages = dict(zip(choices, zip(*(aps for aps, _ in by_category), strict=True), strict=True))
    if given.metric != PUBLISHED:
        averages[PUBLISHED] = tuple(aps[0] for aps, _ in scored(PUBLISHED, [choices[CONTEST]], 0))
    return Scored(
        maps={what: mean_known(np.array(aps, np.float64)) for what, aps in averages.items()},
        aps={
            what: dict(zip(truth.category_ids.tolist(), aps, strict=True)) for what, aps in averages.items()
        },
        detections=int(sizes[counted].sum()),
        unserved_rows=int(unserved.sum()),
        unserved_images=int(np.count_nonzero(unserved)),
        implausible=found,
        objects=object_digests(truth),
        resampled=np.array([samples for _, samples in by_category]) if resamples else None,
    )


def _looked_through(posts: Iterable[Floats], counted: Bools, limits: Floats) -> tuple[Ints, Implausible]:
    """How many rows each image number has (N + 1,), and what is implausible in those that count."""
    sizes, found = np.zeros(len(counted), np.int64), [Implausible()]
    for rows in posts:
        images = rows[:, IMAGE].astype(np.int64)
        sizes += np.bincount(images, minlength=len(sizes))
        found.append(implausible(rows[counted.take(images)], limits))
    some, unit_square, above_1, outside, _ = np.sum([astuple(each) for each in found], axis=0).tolist()
    total = int(sizes[counted].sum()) if some else 0
    first_outside = next((each.first_outside for each in found if each.outside), 0)
    return sizes, Implausible(total, unit_square, above_1, outside, first_outside)


def _blocks(
    truth: GroundTruth, posts: Posts, sizes: Ints, metric: str
) -> Iterator[tuple[GroundTruth, Floats, str, int]]:
    """What `match_block` takes, block by block; `sizes` (N + 1,) are the rows by image number."""
    done = np.cumsum(sizes[truth.image_ids]) // BLOCK_ROWS
    firsts = np.flatnonzero(np.diff(done, prepend=-1))
    for first, ids in zip(firsts.tolist(), np.split(truth.image_ids, firsts[1:]), strict=True):
        is_here = np.zeros(len(sizes), np.bool_)
        is_here[ids] = True
        rows = [each[is_here.take(each[:, IMAGE].astype(np.int64))] for each in posts()]
        yield restricted_to(truth, ids), np.concatenate([np.empty((0, 7)), *rows]), metric, first
