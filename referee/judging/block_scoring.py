"""Scoring of a run that is too large for one worker: by blocks of images, then by categories.

The result is the same, bit for bit, as in one process. No process has all rows of the run in memory: the rows of a
block are read from the store when a worker is free to take them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from lpirc_score.analysis.blocks import match_block, score_category
from lpirc_score.analysis.halves import HALVES, Floats
from lpirc_score.detections.plausibility import Implausible, implausible
from lpirc_score.metrics.average_precision import mean_known
from lpirc_score.metrics.ilsvrc_det import PUBLISHED
from lpirc_testsets import GroundTruth
from referee.judging.run_case import undo_image_order
from referee.judging.scoring_job import (
    CONTEST,
    IMAGE,
    WITH_UNSERVED,
    Scored,
    ScoringInput,
    changed,
    object_digests,
    of_categories,
)
from referee.store import Store
from referee.workers import Workers
from referee.workers.job_dispatch import mapped

BLOCK_ROWS = 1 << 20
"""Largest number of rows in a block; it may be exceeded by the rows of one image."""
BYTES_A_ROW = 320
"""Maximum memory per row while a block is matched, including the copy of the row that the worker receives."""

Ints = NDArray[np.int64]
Posts = Callable[[], Iterable[Floats]]


def stored_posts(store: Store, run: int) -> Posts:
    """Return a function that yields the rows of a stored run post by post, as `score_large` needs it."""
    order = store.runs.image_order(run)
    return lambda: (
        undo_image_order(rows, order) for rows in store.posts.detections_by_post(run)
    )


def score_large(
    workers: Workers,
    given: ScoringInput,
    posts: Posts,
    known: Scored | None = None,
) -> Scored:
    """Score a large run on the workers and return what `score_whole` would return, bit for bit.

    `known` is an earlier result whose unchanged categories are reused. `given` has no rows; `posts()` is called again
    for every block and yields the rows (n, 7) of one post after another, with the test set's image numbers. Raises
    RefereeError as `score_whole` does.
    """
    objects = object_digests(given.ground_truth)
    are_new = changed(objects, known)
    is_new = [category in are_new for category in objects]
    new = list(compress(objects, is_new))
    counted = given.served | given.count_unserved
    sizes, found = _looked_through(posts(), counted, given.limits)
    unserved = np.where(given.served, 0, sizes)
    has_two = unserved.any() and not given.count_unserved

    metrics = list(dict.fromkeys([given.metric, PUBLISHED]))
    block_of = _cut(sizes, workers.memory_bytes)
    blocks = _blocks(given.ground_truth, are_new, posts, block_of, metrics)
    parts = [*mapped(workers, match_block, blocks)]
    images = counted[given.ground_truth.image_ids]
    tasks = (
        (its, metrics[place // len(new)], images, place < len(new))
        for place, its in enumerate(zip(*parts, strict=True))
    )
    results = [*mapped(workers, score_category, tasks)]
    contest = results[: len(new)]
    published = results[len(new) :]
    averages = {
        CONTEST: [ap for ap, _, _ in contest],
        PUBLISHED: [ap for ap, _, _ in published],
    }
    if has_two:
        averages[WITH_UNSERVED] = [ap for _, ap, _ in contest]

    aps = {}
    maps = {}
    for what, its in averages.items():
        if not its:
            continue
        of_category = dict(zip(new, its, strict=True))
        if known is not None:
            of_category = {**known.aps[what], **of_category}
        aps[what] = of_category
        maps[what] = mean_known(np.array([*of_category.values()], np.float64))

    averages_of_halves = np.empty((len(objects), HALVES))
    if known is not None:
        averages_of_halves = np.array(known.halves)
    averages_of_halves[is_new] = [its for _, _, its in contest]
    return Scored(
        maps,
        aps,
        detections=int(sizes[counted].sum()),
        unserved_rows=int(unserved.sum()),
        unserved_images=int(np.count_nonzero(unserved)),
        implausible=found,
        objects=objects,
        halves=averages_of_halves,
    )


def _looked_through(
    posts: Iterable[Floats],
    counted: NDArray[np.bool_],
    limits: Floats,
) -> tuple[Ints, Implausible]:
    """Return the number of rows by image number (N + 1,), and the implausible values in rows of `counted` images."""
    sizes = np.zeros(len(counted), np.int64)
    found = [Implausible()]
    for rows in posts:
        images = rows[:, IMAGE].astype(np.int64)
        sizes += np.bincount(images, minlength=len(sizes))
        found.append(implausible(rows[counted.take(images)], limits))
    columns = zip(*map(astuple, found), strict=True)
    some, unit_square, above_1, below_0, outside, _ = map(sum, columns)
    total = 0
    if some:
        total = int(sizes[counted].sum())
    first = next((each.first_outside for each in found if each.outside), 0)
    return sizes, Implausible(total, unit_square, above_1, below_0, outside, first)


def _cut(sizes: Ints, memory_bytes: int) -> Ints:
    """Return the block of each image number (N + 1,); a block has as many rows as fit a worker's memory."""
    block_rows = max(1, min(BLOCK_ROWS, memory_bytes // BYTES_A_ROW))
    return np.cumsum(sizes) // block_rows


def _blocks(
    truth: GroundTruth,
    categories: set[int],
    posts: Posts,
    block_of: Ints,
    metrics: Sequence[str],
) -> Iterator[tuple[GroundTruth, Floats, Sequence[str]]]:
    """Yield the arguments of `match_block`, block by block. `block_of` (N + 1,) is indexed by image number."""
    for block in np.unique(block_of).tolist():
        is_here = block_of == block
        parts = [np.empty((0, 7))]
        for rows in posts():
            images = rows[:, IMAGE].astype(np.int64)
            parts.append(rows[is_here.take(images)])
        objects = truth.of_objects(is_here.take(truth.image))
        its_rows = np.concatenate(parts)
        its_truth, its_rows = of_categories(objects, its_rows, categories)
        yield its_truth, its_rows, metrics
