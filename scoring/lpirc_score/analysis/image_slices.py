"""Scores of named parts of the images: by camera, by time of day, by whatever the caller knows of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lpirc_score.analysis.selection import select
from lpirc_score.arguments import pairs_of, require_mapping
from lpirc_score.metrics.detection_columns import Detections
from lpirc_score.metrics.evaluation import evaluated
from lpirc_score.metrics.evaluation_result import Evaluation
from lpirc_testsets.ground_truth import GroundTruth


def evaluate_slices(
    ground_truth: GroundTruth,
    detections: Detections,
    slices: Mapping[str, Iterable[int]],
    metric: str = "lpirc",
    iou: float | None = None,
    blacklist: Iterable[tuple[int, int]] = (),
) -> dict[str, Evaluation]:
    """Return the evaluation of each slice by its name; a slice is a list of image ids, and slices may overlap.

    A category without objects in a slice is left out of the slice's mAP, so mAPs of slices differ for that reason, too.
    Raises `CodedError` as `evaluate` does, and `unknown-image`.
    """
    require_mapping(slices, "slices")
    banned = pairs_of(blacklist)
    scores = {}
    for name, images in slices.items():
        truth, found = select(ground_truth, detections, images=images)
        known = set(truth.image_ids.tolist())
        here = [pair for pair in banned if pair[0] in known]
        scores[name] = evaluated(truth, found, metric, iou, here)
    return scores
