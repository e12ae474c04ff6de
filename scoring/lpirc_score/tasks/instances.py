"""Instance segmentation: masks with category and confidence; the twelve numbers of COCO for masks (`segm`).

Goal: the numbers of pycocotools' COCOeval with `iouType="segm"`; the accuracy is AP, the mean over ten IoUs.
Source: https://github.com/cocodataset/cocoapi, `cocoeval.py` and `maskApi.c`; Lin et al., ECCV 2014.
Conventions: those of the metric `coco`, whose engine this is, with pycocotools' overlaps of masks. The area of an
answer is the number of its pixels. Polygons and lists of counts, which COCOeval does not take as results, are filled
and compressed by pycocotools first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lpirc_score.analysis.halves import coco_average, mean_of_categories
from lpirc_score.metrics.coco import (
    evaluation_of_areas,
    ranked_coco,
    results_by_area,
)
from lpirc_score.metrics.coco_shapes import ShapesOf
from lpirc_score.metrics.detection_columns import Detections
from lpirc_score.metrics.evaluation_result import Evaluation
from lpirc_score.tasks.instance_bodies import JSON, LARGEST_BODY_BYTES, read_instances
from lpirc_score.tasks.instance_masks import TrueInstance
from lpirc_score.tasks.instance_overlay import shown_instance
from lpirc_score.tasks.instance_truth import read_truth
from lpirc_score.tasks.mask_shapes import mask_shapes
from lpirc_score.tasks.task_kinds import (
    Answer,
    Figures,
    Floats,
    Ints,
    Truth,
    WholeTask,
)
from lpirc_testsets import GroundTruth


def evaluate(
    truth: Truth,
    answers: Sequence[Answer],
    images: Ints,
) -> Figures:
    """Return AP, and the twelve numbers without those that have no object."""
    found = evaluate_masks(truth, answers, images)
    summary = found.summary or {}
    known = {name: value for name, value in summary.items() if value is not None}
    return Figures(found.map or 0.0, found.ap, known)


def evaluate_masks(
    truth: Truth,
    answers: Sequence[Answer],
    images: Ints,
) -> Evaluation:
    """Return the evaluation by `coco` of masks in place of boxes."""
    columns = _columns(truth, answers, images)
    results = results_by_area(
        columns.objects,
        columns.found,
        frozenset(),
        columns.shapes,
    )
    return evaluation_of_areas(columns.objects, columns.found, results)


def halves(
    truth: Truth,
    answers: Sequence[Answer],
    images: Ints,
    drawn: NDArray[np.bool_],
) -> Floats:
    """Return AP (H,) on the `drawn` images (H, n) of each half; masks are compared once."""
    columns = _columns(truth, answers, images)
    of_images = np.ascontiguousarray(drawn.T)
    averages = [
        coco_average(category, of_images)
        for category in ranked_coco(
            columns.objects,
            columns.found,
            frozenset(),
            columns.shapes,
        )
    ]
    return mean_of_categories(np.array(averages).reshape(-1, len(drawn)))


@dataclass(frozen=True, eq=False)
class _Columns:
    """Objects and answers as the engine takes them, without boxes, and the shapes that it compares instead."""

    objects: GroundTruth
    found: Detections
    shapes: ShapesOf


def _columns(
    truth: Truth,
    answers: Sequence[Answer],
    images: Ints,
) -> _Columns:
    wanted = {*images.tolist()}
    rows = [(image, one) for image in images.tolist() for one in truth.by_image[image]]
    given = [(image, one) for image, one in answers if image in wanted]
    return _Columns(
        _objects(truth, images, rows),
        Detections(
            image=np.array([image for image, _ in given], np.int64),
            category=np.array([one.category for _, one in given], np.int64),
            confidence=np.array([one.score for _, one in given], np.float64),
            boxes=np.zeros((len(given), 4)),
        ),
        mask_shapes([one.mask for _, one in given], [one.mask for _, one in rows]),
    )


def _objects(
    truth: Truth,
    images: Ints,
    rows: Sequence[tuple[int, TrueInstance]],
) -> GroundTruth:
    boxes = np.zeros((len(rows), 4))
    return GroundTruth(
        image_ids=images,
        image_names=("",) * len(images),
        category_ids=np.array([one.id for one in truth.categories], np.int64),
        category_names=tuple(one.name for one in truth.categories),
        image=np.array([image for image, _ in rows], np.int64),
        category=np.array([one.category for _, one in rows], np.int64),
        boxes=boxes,
        difficult=np.zeros(len(rows), np.bool_),
        crowd=np.array([one.is_crowd for _, one in rows], np.bool_),
        area=np.array([one.area for _, one in rows], np.float64),
        coco_boxes=boxes,
    )


TASK = WholeTask(
    name="instances",
    title="Instance segmentation",
    accuracy="mask AP",
    answer="instance",
    answers="instances",
    content_types=(JSON,),
    read=read_instances,
    read_truth=read_truth,
    show=shown_instance,
    largest_body_bytes=LARGEST_BODY_BYTES,
    is_once=False,
    source='COCOeval of pycocotools with iouType="segm"',
    evaluate=evaluate,
    halves=halves,
)
