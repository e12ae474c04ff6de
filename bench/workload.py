"""A workload shaped like COCO val2017: its images, categories, objects and crowds, and what a detector finds there.

For each 5,000 images there are about 36,000 objects of 80 categories, of which one has 30 % and the rarest a
dozen objects; 41 % of the objects are small, 24 % large, 1.2 % are crowds. Each image has as many detections:
several near an object, more or less well, of its category or another, and some on the background; the images in no
order, the detections of each by falling confidence.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpirc_score import Detections
from lpirc_testsets import GroundTruth
from lpirc_testsets.box_corners import corners_from_coco

IMAGES = 5_000
CATEGORIES = 80
WIDTH_PX = 640
HEIGHT_PX = 480
CLUSTERS = 2.9
MORE_OF_A_KIND = 0.4
"""Of an image: categories, on average, and the chance that there is no further object of one."""


@dataclass(frozen=True, eq=False)
class Workload:
    """Ground truth and detections as columns; boxes as x, y, w, h."""

    images: NDArray[np.int64]
    categories: NDArray[np.int64]
    gt_image: NDArray[np.int64]
    gt_category: NDArray[np.int64]
    gt_boxes: NDArray[np.float64]
    area: NDArray[np.float64]
    crowd: NDArray[np.bool_]
    image: NDArray[np.int64]
    category: NDArray[np.int64]
    confidence: NDArray[np.float64]
    boxes: NDArray[np.float64]

    def save(self, path: Path) -> None:
        """Keep it for the contenders' processes: the columns, and beside them both files of COCO."""
        np.savez(path, **vars(self))
        truth_path(path).write_text(json.dumps(self.coco_dataset()))
        found = self.image, self.category, self.boxes, self.confidence
        rows = zip(*(column.tolist() for column in found), strict=True)
        entries = [
            {
                "image_id": i,
                "category_id": c,
                "bbox": b,
                "score": s,
            }
            for i, c, b, s in rows
        ]
        results_path(path).write_text(json.dumps(entries))

    @classmethod
    def load(cls, path: Path) -> Workload:
        """Read it back."""
        with np.load(path) as columns:
            return cls(**{name: columns[name] for name in columns.files})

    def ground_truth(self) -> GroundTruth:
        """As our scorer takes it."""
        return GroundTruth(
            image_ids=self.images,
            image_names=("",) * len(self.images),
            category_ids=self.categories,
            category_names=tuple(map(str, self.categories)),
            image=self.gt_image,
            category=self.gt_category,
            boxes=corners_from_coco(self.gt_boxes),
            difficult=np.zeros(len(self.gt_image), np.bool_),
            crowd=self.crowd,
            area=self.area,
            coco_boxes=self.gt_boxes,
        )

    def detections(self) -> Detections:
        """As our scorer takes them."""
        corners = corners_from_coco(self.boxes)
        return Detections(
            self.image,
            self.category,
            self.confidence,
            corners,
            self.boxes,
        )

    def rows(self) -> NDArray[np.float64]:
        """The detections (n, 7) as they are posted, image by image, the images numbered from 1."""
        image = np.searchsorted(self.images, self.image) + 1
        boxes = self.detections().boxes.round(2)
        rows = np.column_stack([image, self.category, self.confidence, boxes])
        return rows[np.argsort(rows[:, 0], kind="stable")]

    def coco_dataset(self) -> dict[str, Any]:
        """The ground truth as the dictionary that COCO tools take; ids from 1, for pycocotools' sake."""
        columns = (
            self.gt_image,
            self.gt_category,
            self.gt_boxes,
            self.area,
            self.crowd,
        )
        keys = ("id", "image_id", "category_id", "bbox", "area", "iscrowd")
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return {
            "images": [
                {"id": i, "width": WIDTH_PX, "height": HEIGHT_PX}
                for i in self.images.tolist()
            ],
            "categories": [{"id": c, "name": str(c)} for c in self.categories.tolist()],
            "annotations": [
                dict(zip(keys, (number, *row[:-1], int(row[-1])), strict=True))
                for number, row in enumerate(rows, start=1)
            ],
        }

    def coco_results(self) -> NDArray[np.float64]:
        """The detections as rows image, x, y, w, h, score, category, which every COCO tool loads fastest."""
        return np.column_stack([self.image, self.boxes, self.confidence, self.category])


def truth_path(path: Path) -> Path:
    """The ground truth that `Workload.save` writes beside the columns."""
    return path.with_suffix(".truth.json")


def results_path(path: Path) -> Path:
    """The detections that `Workload.save` writes beside the columns."""
    return path.with_suffix(".json")


def make(images: int = IMAGES, per_image: int = 100, seed: int = 0) -> Workload:
    """The workload with so many images and detections of each; the same for the same numbers."""
    random = np.random.default_rng([seed, images, per_image])
    rarer = np.geomspace(1900, 9, CATEGORIES - 1)
    share = np.append(0.3, 0.7 * rarer / rarer.sum())
    ids = np.sort(random.choice(np.arange(1, 91), CATEGORIES, replace=False))
    clusters = np.repeat(np.arange(images), random.poisson(CLUSTERS, images))
    sizes = np.minimum(random.geometric(MORE_OF_A_KIND, len(clusters)), 40)
    gt_image = np.repeat(clusters, sizes)
    gt_category = np.repeat(random.choice(ids, len(clusters), p=share), sizes)
    gt_boxes = _boxes(random, len(gt_image))
    count = images * per_image
    image = np.repeat(random.permutation(images), per_image)
    objects = np.bincount(gt_image, minlength=images)
    nearest = (np.cumsum(objects) - objects)[image] + (
        random.random(count) * objects[image]
    ).astype(np.int64)
    nearest = np.minimum(nearest, len(gt_image) - 1)
    is_near, is_right = (
        (random.random(count) < chance) & (objects[image] > 0) for chance in (0.4, 0.55)
    )
    off = 10 ** random.uniform(-1.7, 0, count)
    shaken = gt_boxes[nearest] + random.normal(size=(count, 4)) * off[
        :, None
    ] * np.tile(gt_boxes[nearest, 2:], 2)
    shaken[:, 2:] = np.maximum(shaken[:, 2:], 1)
    good = random.beta(2, 1 + 20 * off)
    poor = random.beta(0.6, 8, count)
    confidence = np.where(is_near & is_right, good, poor).round(4)
    order = np.lexsort((-confidence, np.arange(count) // per_image))
    image_ids = np.sort(random.choice(116 * images, images, replace=False)) + 1
    return Workload(
        images=image_ids,
        categories=ids,
        gt_image=image_ids[gt_image],
        gt_category=gt_category,
        gt_boxes=gt_boxes,
        area=(gt_boxes[:, 2:].prod(axis=1) * 0.6).round(
            2
        ),  # of the mask, which COCO states
        crowd=random.random(len(gt_image)) < 0.012,
        image=image_ids[image][order],
        category=np.where(
            is_right,
            gt_category[nearest],
            random.choice(ids, count, p=share),
        )[order],
        confidence=confidence[order],
        boxes=np.where(is_near[:, None], shaken, _boxes(random, count)).round(2)[order],
    )


def _boxes(random: np.random.Generator, count: int) -> NDArray[np.float64]:
    side = np.exp(random.normal(3.73, 1.18, (count, 1)))
    aspect = np.exp(random.normal(0, 0.4, (count, 1)))
    size = np.clip(np.hstack([side * aspect, side / aspect]), 2, [WIDTH_PX, HEIGHT_PX])
    corner = random.random((count, 2)) * (np.array([WIDTH_PX, HEIGHT_PX]) - size)
    return np.hstack([corner, size]).round(2)
