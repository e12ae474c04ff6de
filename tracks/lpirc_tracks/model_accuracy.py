"""Computes the accuracy of a model in percent over all images of a set; an image without an answer is wrong. Pure.

The answers are those of a result document, whose reader refuses malformed ones. Boxes are inclusive corners in pixels
of the original image, as everywhere in the contest: a width is xmax - xmin + 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from lpirc_score import COCO, Detections
from lpirc_score.metrics.evaluation import evaluated
from lpirc_score.metrics.overlap import overlaps
from lpirc_testsets.ground_truth import GroundTruth
from referee.errors import RefereeError


def coco_ap_percent(ground_truth: GroundTruth, rows: NDArray[np.float64]) -> float:
    """Return COCO's AP .50:.95 of rows (M, 7): image, category, confidence, xmin, ymin, xmax, ymax.

    Models trained on COCO answer in 90 categories; categories that a set lacks are ignored, as in COCO's evaluation.
    Raises RefereeError `unknown-image`, `not-finite`.
    """
    kept = rows[np.isin(rows[:, 1], ground_truth.category_ids)]
    found = evaluated(ground_truth, Detections.from_rows(kept), COCO)
    return 100 * (found.map or 0.0)


def top1_percent(
    labels: Sequence[int] | NDArray[np.int64], answers: Sequence[tuple[int, int]]
) -> float:
    """Return the percentage of images whose answer is their label; `labels[i]` is the label of image i + 1.

    `answers` are (image, index of the largest output), at most one per image. Raises RefereeError `bad-predictions` for
    an image that is not in the set, `no-images` for an empty set.
    """
    if not len(labels):
        raise RefereeError(
            "no-images", "The test set has no images; there is no accuracy."
        )
    for image, _ in answers:
        if not 1 <= image <= len(labels):
            raise _bad(f"image {image} is not in the set of {len(labels)} images")
    return (
        100
        * sum(int(labels[image - 1]) == label for image, label in answers)
        / len(labels)
    )


def mean_iou_percent(ground_truth: GroundTruth, rows: NDArray[np.float64]) -> float:
    """Return the mean overlap of each image's most confident box with its one object, whatever the category.

    Rows (M, 7) are as for `coco_ap_percent`; if confidences are equal, the first row counts. Raises RefereeError as
    `only_objects`, and `bad-predictions` for an image that is not in the set.
    """
    objects = only_objects(ground_truth)
    best: dict[int, NDArray[np.float64]] = {}
    for row in rows:
        image = int(row[0])
        if image not in objects:
            raise _bad(f"image {row[0]:g} is not in the set of {len(objects)} images")
        if image not in best or row[2] > best[image][2]:
            best[image] = row
    if not best:
        return 0.0
    detected = np.array([row[3:7] for row in best.values()])
    shared = overlaps(detected, np.array([objects[image] for image in best]))
    return 100 * float(shared.sum()) / len(objects)


def only_objects(ground_truth: GroundTruth) -> Mapping[int, NDArray[np.float64]]:
    """Return the box of the one object in each image, by image.

    Raises RefereeError `bad-ground-truth` unless every image has exactly one object, `no-images` for an empty set.
    """
    images, counts = np.unique(ground_truth.image, return_counts=True)
    found = dict(zip(images.tolist(), counts.tolist(), strict=True))
    for image in ground_truth.image_ids.tolist():
        if found.get(image, 0) != 1:
            sentence = f"This track needs one object in each image; image {image} has {found.get(image, 0)}."
            raise RefereeError("bad-ground-truth", sentence, image=image)
    if not found:
        raise RefereeError(
            "no-images", "The test set has no images; there is no accuracy."
        )
    return dict(zip(ground_truth.image.tolist(), ground_truth.boxes, strict=True))


def _bad(problem: str) -> RefereeError:
    return RefereeError(
        "bad-predictions", f"The result's predictions: {problem}; measure again."
    )
