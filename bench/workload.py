"""The scorer's workload: as many images, categories and objects as the ILSVRC DET validation set has in METRICS."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from referee.scoring import Detections
from testsets import GroundTruth

IMAGES = 20_000
CATEGORIES = 200
OBJECTS = 53_698
SIDE_PX = 500


@dataclass(frozen=True, eq=False)
class Workload:
    """Ground truth and detections as columns; `boxes` in inclusive corners."""

    gt_image: NDArray[np.int64]
    gt_category: NDArray[np.int64]
    gt_boxes: NDArray[np.float64]
    image: NDArray[np.int64]
    category: NDArray[np.int64]
    confidence: NDArray[np.float64]
    boxes: NDArray[np.float64]

    def save(self, path: Path) -> None:
        """Keep it for the contenders' processes."""
        np.savez(path, **vars(self))

    @classmethod
    def load(cls, path: Path) -> Workload:
        """Read it back."""
        with np.load(path) as columns:
            return cls(**{name: columns[name] for name in columns.files})

    def ground_truth(self) -> GroundTruth:
        """As our scorer takes it."""
        ids = np.arange(1, IMAGES + 1)
        categories = np.arange(1, CATEGORIES + 1)
        sizes = self.gt_boxes[:, 2:] - self.gt_boxes[:, :2] + 1
        nothing = np.zeros(len(self.gt_image), np.bool_)
        return GroundTruth(
            image_ids=ids,
            image_names=("",) * IMAGES,
            category_ids=categories,
            category_names=tuple(map(str, categories)),
            image=self.gt_image,
            category=self.gt_category,
            boxes=self.gt_boxes,
            difficult=nothing,
            crowd=nothing,
            area=sizes.prod(axis=1),
            coco_boxes=np.hstack([self.gt_boxes[:, :2], sizes]),
        )

    def detections(self) -> Detections:
        """As our scorer takes them."""
        return Detections(self.image, self.category, self.confidence, self.boxes)

    def coco_boxes(self) -> NDArray[np.float64]:
        """The detections' boxes as x, y, w, h."""
        return np.hstack([self.boxes[:, :2], self.boxes[:, 2:] - self.boxes[:, :2] + 1])

    def coco_dataset(self) -> dict[str, Any]:
        """The ground truth as the dictionary that COCO tools take; ids from 1, for pycocotools' sake."""
        truth = self.ground_truth()
        rows = zip(truth.image.tolist(), truth.category.tolist(), truth.coco_boxes.tolist(), strict=True)
        annotations = [
            {
                "id": number,
                "image_id": i,
                "category_id": c,
                "bbox": box,
                "area": box[2] * box[3],
                "iscrowd": 0,
            }
            for number, (i, c, box) in enumerate(rows, start=1)
        ]
        return {
            "images": [{"id": i, "width": SIDE_PX, "height": SIDE_PX} for i in range(1, IMAGES + 1)],
            "categories": [{"id": c, "name": str(c)} for c in range(1, CATEGORIES + 1)],
            "annotations": annotations,
        }

    def coco_results(self) -> NDArray[np.float64]:
        """The detections as rows image, x, y, w, h, score, category, which every COCO tool loads fastest."""
        return np.column_stack([self.image, self.coco_boxes(), self.confidence, self.category])


def make(detections: int, seed: int = 0) -> Workload:
    """A workload in which half of the detections lie near an object of their category."""
    random = np.random.default_rng([seed, detections])
    gt_image = np.sort(random.integers(1, IMAGES + 1, OBJECTS))
    gt_category = random.integers(1, CATEGORIES + 1, OBJECTS)
    gt_boxes = _boxes(random, OBJECTS).round()
    near = random.integers(0, OBJECTS, detections)
    is_near = random.random(detections) < 0.5
    image = np.where(is_near, gt_image[near], random.integers(1, IMAGES + 1, detections))
    category = np.where(is_near, gt_category[near], random.integers(1, CATEGORIES + 1, detections))
    shaken = gt_boxes[near] + random.normal(0, 8, (detections, 4))
    shaken[:, 2:] = np.maximum(shaken[:, 2:], shaken[:, :2] + 1)
    boxes = np.where(is_near[:, None], shaken, _boxes(random, detections))
    confidence = random.random(detections).round(6)
    return Workload(gt_image, gt_category, gt_boxes, image, category, confidence, boxes.round(6))


def _boxes(random: np.random.Generator, count: int) -> NDArray[np.float64]:
    corner = random.uniform(0, SIDE_PX * 0.7, (count, 2))
    size = random.uniform(10, SIDE_PX * 0.3, (count, 2))
    return np.hstack([corner, corner + size])
