"""The COCO metric by pycocotools itself: a second engine to check the first one.

pycocotools treats an object with id 0 as unmatched, so everything is numbered from 1. Its printed output is suppressed.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from lpirc_score.metrics.coco import AT_50, AT_75
from lpirc_score.metrics.detection_columns import Detections
from lpirc_score.metrics.evaluation_result import Counts, Evaluation, signature
from lpirc_testsets.box_corners import coco_from_corners
from lpirc_testsets.ground_truth import GroundTruth

_NAMES = ["AP", "AP50", "AP75", "APsmall", "APmedium", "APlarge"]
_NAMES += ["AR1", "AR10", "AR100", "ARsmall", "ARmedium", "ARlarge"]


def evaluate_with_pycocotools(
    ground_truth: GroundTruth,
    detections: Detections,
    blacklist: Iterable[tuple[int, int]] = (),
    ground_truth_digest: str | None = None,
) -> Evaluation:
    """Score detections by the COCO metric, as `lpirc_score.evaluate` does.

    All images and categories of the detections must be known.
    """
    banned = frozenset(blacklist)
    with contextlib.redirect_stdout(io.StringIO()):
        evaluator = COCOeval(
            _truth(ground_truth, banned),
            _results(ground_truth, detections, banned),
            "bbox",
        )
        evaluator.evaluate()
        evaluator.accumulate()
        evaluator.summarize()
    ids = ground_truth.category_ids.tolist()
    precision = evaluator.eval["precision"][:, :, :, 0, -1]
    ap = _means(ids, precision, slice(None))
    ap50 = _means(ids, precision, AT_50)
    ap75 = _means(ids, precision, AT_75)
    summary = {
        name: _known(value) for name, value in zip(_NAMES, evaluator.stats, strict=True)
    }
    return Evaluation(
        metric="coco",
        iou=None,
        map=summary["AP"],
        ap=ap,
        counts=dict(zip(ids, _counts(evaluator, len(ids)), strict=True)),
        categories_with_ground_truth=sum(value is not None for value in ap.values()),
        images=len(ground_truth.image_ids),
        detections=len(detections),
        signature=signature(
            "coco",
            "0.5:0.95",
            banned,
            ground_truth_digest,
            f"pycocotools-{version('pycocotools')}",
        ),
        summary=summary,
        ap50=ap50,
        ap75=ap75,
    )


def _means(
    ids: list[int],
    precision: Any,
    ious: int | slice,
) -> dict[int, float | None]:
    """Return, for each category, the mean of precisions (T, R, K) at one IoU or several."""
    means: dict[int, float | None] = {}
    for place, id_ in enumerate(ids):
        means[id_] = _known(precision[ious, :, place].mean())
    return means


def _truth(ground_truth: GroundTruth, banned: frozenset[tuple[int, int]]) -> Any:
    annotations = [
        {
            "area": area,
            "iscrowd": int(crowd),
            **_annotation(number, image, category, box),
        }
        for number, (image, category, box, area, crowd) in enumerate(
            _rows(
                ground_truth.image,
                ground_truth.category,
                ground_truth.coco_boxes,
                ground_truth.area,
                ground_truth.crowd,
            ),
            start=1,
        )
        if (image, category) not in banned
    ]
    return _dataset(ground_truth, annotations)


def _results(
    ground_truth: GroundTruth,
    detections: Detections,
    banned: frozenset[tuple[int, int]],
) -> Any:
    boxes = detections.coco_boxes
    if boxes is None:
        boxes = coco_from_corners(detections.boxes)
    annotations = [
        {
            "area": box[2] * box[3],
            "iscrowd": 0,
            "score": score,
            **_annotation(number, image, category, box),
        }
        for number, (image, category, box, score) in enumerate(
            _rows(detections.image, detections.category, boxes, detections.confidence),
            start=1,
        )
        if (image, category) not in banned
    ]
    return _dataset(ground_truth, annotations)


def _rows(*columns: NDArray[Any]) -> Iterable[tuple[Any, ...]]:
    return zip(*(column.tolist() for column in columns), strict=True)


def _annotation(
    number: int,
    image: int,
    category: int,
    box: list[float],
) -> dict[str, Any]:
    return {"id": number, "image_id": image, "category_id": category, "bbox": box}


def _dataset(ground_truth: GroundTruth, annotations: list[dict[str, Any]]) -> Any:
    coco = COCO()
    coco.dataset = {
        "images": [{"id": id_} for id_ in ground_truth.image_ids.tolist()],
        "categories": [{"id": id_} for id_ in ground_truth.category_ids.tolist()],
        "annotations": annotations,
    }
    coco.createIndex()
    return coco


def _counts(evaluator: Any, categories: int) -> list[Counts]:
    """Return the counts of each category at IoU .5 and all areas, from the results that pycocotools keeps by image."""
    images = len(evaluator.params.imgIds)
    ranges = len(evaluator.params.areaRng)
    found = []
    for category in range(categories):
        first = category * ranges * images
        entries = [
            entry
            for entry in evaluator.evalImgs[first : first + images]
            if entry is not None
        ]
        objects = sum(
            np.count_nonzero(np.equal(entry["gtIgnore"], 0)) for entry in entries
        )
        counted = [
            (entry["dtMatches"][0] > 0, ~entry["dtIgnore"][0].astype(bool))
            for entry in entries
        ]
        true = sum(np.count_nonzero(matched & counts) for matched, counts in counted)
        every = sum(np.count_nonzero(counts) for _, counts in counted)
        found.append(Counts(int(objects), int(true), int(every - true)))
    return found


def _known(value: float) -> float | None:
    if value == -1:
        return None
    return float(value)
