"""pycocotools with parameters of its own, for figures that `coco_reference` does not ask for."""

from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from lpirc_score import Detections, GroundTruth


def judged(truth: GroundTruth, found: Detections, **params: Any) -> COCOeval:
    """The evaluator after its summary; `params` replace those of the same name in its `params`."""
    entries = [
        {
            "id": number,
            "image_id": image,
            "category_id": category,
            "bbox": box,
            "area": area,
            "iscrowd": int(crowd),
        }
        for number, (image, category, box, area, crowd) in enumerate(
            zip(
                truth.image.tolist(),
                truth.category.tolist(),
                truth.coco_boxes.tolist(),
                truth.area.tolist(),
                truth.crowd.tolist(),
                strict=True,
            ),
            start=1,
        )
    ]
    rows = [
        {
            "id": number,
            "image_id": image,
            "category_id": category,
            "bbox": box,
            "area": box[2] * box[3],
            "iscrowd": 0,
            "score": confidence,
        }
        for number, (image, category, box, confidence) in enumerate(
            zip(
                found.image.tolist(),
                found.category.tolist(),
                found.coco_boxes.tolist(),
                found.confidence.tolist(),
                strict=True,
            ),
            start=1,
        )
    ]
    with contextlib.redirect_stdout(io.StringIO()):
        evaluator = COCOeval(_dataset(truth, entries), _dataset(truth, rows), "bbox")
        for name, value in params.items():
            setattr(evaluator.params, name, value)
        evaluator.evaluate()
        evaluator.accumulate()
        evaluator.summarize()
    return evaluator


def is_same(ours: float | None, theirs: float) -> bool:
    """Both say the same, to 1e-12; pycocotools says -1 where there is nothing to say."""
    if ours is None or theirs == -1:
        return ours is None and theirs == -1
    return abs(ours - theirs) <= 1e-12


def mean_of(evaluator: COCOeval, category: int, area: int) -> float:
    """The AP of one category, by its place, in one range of areas."""
    precision = evaluator.eval["precision"][:, :, category, area, -1]
    return float(np.mean(precision))


def _dataset(truth: GroundTruth, annotations: list[dict[str, Any]]) -> COCO:
    coco = COCO()
    coco.dataset = {
        "images": [{"id": id_} for id_ in truth.image_ids.tolist()],
        "categories": [{"id": id_} for id_ in truth.category_ids.tolist()],
        "annotations": annotations,
    }
    coco.createIndex()
    return coco
