"""Two metrics: `lpirc-75`, which asks for 75 % overlap, and `found`, the share of objects found.

The first is a `Rule`: only what differs from `lpirc` is said. The second is an `OwnMetric`, a
function of its own.
"""

from __future__ import annotations

import numpy as np

from lpirc_score import Detections, Evaluation
from lpirc_score.metrics.evaluation_result import Counts, evaluation_of
from lpirc_score.metrics.metric_kinds import Blacklist, OwnMetric, Rule
from lpirc_score.metrics.overlap import overlaps
from lpirc_testsets import GroundTruth

STRICTER = Rule("lpirc-75", iou=0.75)


def evaluate(
    ground_truth: GroundTruth,
    detections: Detections,
    blacklist: Blacklist,
) -> Evaluation:
    """Give each category the share of its objects that a detection overlaps by 50 %."""
    objects = dict.fromkeys(ground_truth.category_ids.tolist(), 0)
    found = dict.fromkeys(objects, 0)
    places = zip(
        ground_truth.image.tolist(),
        ground_truth.category.tolist(),
        strict=True,
    )
    for place, (image, category) in enumerate(places):
        if (image, category) in blacklist or ground_truth.crowd[place]:
            continue
        is_near = (detections.image == image) & (detections.category == category)
        boxes = detections.boxes[is_near]
        wanted = np.broadcast_to(ground_truth.boxes[place], boxes.shape)
        objects[category] += 1
        found[category] += bool((overlaps(boxes, wanted) >= 0.5).any())

    shares: dict[int, float | None] = {}
    counts = {}
    for category, count in objects.items():
        listed = int(np.count_nonzero(detections.category == category))
        counts[category] = Counts(count, found[category], listed - found[category])
        shares[category] = found[category] / count if count else None
    return evaluation_of("found", ground_truth, detections, shares, counts)


FOUND = OwnMetric("found", evaluate, iou="0.5")
