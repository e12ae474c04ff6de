"""Parts of a set: some images, some categories, all categories as one, all but some pairs.

`select` does what `params.imgIds` and `params.catIds` do in pycocotools, `pool_categories` what `useCats = 0` does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from lpirc_score.arguments import ids_among
from lpirc_score.metrics.detection_columns import Detections, require_columns
from lpirc_score.metrics.groups import Ids
from lpirc_testsets.ground_truth import GroundTruth

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Part = tuple[GroundTruth, Detections]

POOLED = 1
POOLED_NAME = "any category"


def select(
    ground_truth: GroundTruth,
    detections: Detections,
    *,
    images: Iterable[int] | None = None,
    categories: Iterable[int] | None = None,
) -> Part:
    """Return the ground truth and the detections of these image ids and category ids; None keeps all.

    Repeated ids count once. Raises `CodedError` `unknown-image` or `unknown-category`.
    """
    require_columns(ground_truth, detections)
    if images is not None:
        kept = _marked(ground_truth.image_ids, images, "image")
        ids = ground_truth.image_ids[kept]
        names = tuple(compress(ground_truth.image_names, kept))
        ground_truth = ground_truth.of_objects(np.isin(ground_truth.image, ids))
        ground_truth = replace(ground_truth, image_ids=ids, image_names=names)
        detections = detections.of_rows(np.isin(detections.image, ids))
    if categories is not None:
        kept = _marked(ground_truth.category_ids, categories, "category")
        ids = ground_truth.category_ids[kept]
        names = tuple(compress(ground_truth.category_names, kept))
        ground_truth = ground_truth.of_objects(np.isin(ground_truth.category, ids))
        ground_truth = replace(ground_truth, category_ids=ids, category_names=names)
        detections = detections.of_rows(np.isin(detections.category, ids))
    return ground_truth, detections


def pool_categories(ground_truth: GroundTruth, detections: Detections) -> Part:
    """Return both with all categories as one, with the id POOLED: only where a detection lies counts.

    Objects and detections are sorted by their category first, as pycocotools does, so detections of equal confidence
    in an image rank by category.

    Raises `CodedError` `unknown-category`.
    """
    require_columns(ground_truth, detections)
    Ids(ground_truth.category_ids, "category").places(detections.category)
    columns = ("image", "boxes", "difficult", "crowd", "area", "coco_boxes")
    order = np.argsort(ground_truth.category, kind="stable")
    sorted_columns = {name: getattr(ground_truth, name)[order] for name in columns}
    truth = replace(
        ground_truth,
        category=np.full(len(order), POOLED, np.int64),
        category_ids=np.array([POOLED], np.int64),
        category_names=(POOLED_NAME,),
        **sorted_columns,
    )
    rows = np.argsort(detections.category, kind="stable")
    coco_boxes = detections.coco_boxes
    found = Detections(
        image=detections.image[rows],
        category=np.full(len(rows), POOLED, np.int64),
        confidence=detections.confidence[rows],
        boxes=detections.boxes[rows],
        coco_boxes=None if coco_boxes is None else coco_boxes[rows],
    )
    return truth, found


def leave_out(
    ground_truth: GroundTruth,
    detections: Detections,
    pairs: Iterable[tuple[int, int]],
) -> Part:
    """Return both without the objects and detections of these (image id, category id) pairs.

    Every metric gives them the figures that it gives the whole with these pairs as its `blacklist`.
    """
    banned = np.array(sorted(set(pairs)), np.int64).reshape(-1, 2)
    if not len(banned):
        return ground_truth, detections
    truth = ground_truth.of_objects(
        ~_are_banned(ground_truth.image, ground_truth.category, banned)
    )
    return truth, detections.of_rows(
        ~_are_banned(detections.image, detections.category, banned)
    )


def _are_banned(image: Ints, category: Ints, banned: Ints) -> Bools:
    pairs = np.column_stack([image, category])
    every = np.concatenate([banned, pairs])
    _, codes = np.unique(every, axis=0, return_inverse=True)
    codes = codes.ravel()
    return np.isin(codes[len(banned) :], codes[: len(banned)])


def _marked(known: Ints, wanted: Iterable[int], what: str) -> Bools:
    ids = np.array(ids_among(wanted, what), np.int64)
    marked = np.zeros(len(known), np.bool_)
    marked[Ids(known, what).places(ids)] = True
    return marked
