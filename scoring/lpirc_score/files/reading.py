"""Reads ground truth and detections in any form: the two functions that a program needs before `evaluate`.

`lpirc_testsets.read_ground_truth` and `lpirc_score.detections.files` do the work, and list the forms.
"""

from __future__ import annotations

import warnings
from pathlib import Path

from lpirc_score.arguments import Name, path_of
from lpirc_score.detections.files import read_submission
from lpirc_score.files.repeated_objects import repeated_objects
from lpirc_score.metrics.detection_columns import Detections, require_truth
from lpirc_score.metrics.metric_kinds import Tolerance
from lpirc_score.metrics.units import TOLD
from lpirc_testsets.ground_truth import GroundTruth
from lpirc_testsets.ground_truth_reader import read_ground_truth

__all__ = ["GroundTruth", "read_detections", "read_truth"]


def read_truth(path: Name, images: Name | None = None) -> GroundTruth:
    """Read ground truth as columns, from a file or a folder; `images` is a list of images or their folder.

    Rows that a CSV has twice are a UserWarning: each is an object.
    Raises TestSetError with every problem found, as `read_ground_truth` does.
    """
    place = path_of(path)
    truth = read_ground_truth(place, None if images is None else path_of(images))
    sentence = repeated_in(place, truth)
    if sentence is not None:
        warnings.warn(sentence, stacklevel=2)
    return truth


def repeated_in(path: Path, truth: GroundTruth) -> str | None:
    """Return a sentence on rows that a CSV of ground truth has twice; None without any, or for another form."""
    if path.suffix.lower() != ".csv":
        return None
    sentence = repeated_objects(truth)
    return None if sentence is None else f"{path}: {sentence}"


def read_detections(
    path: Name,
    truth: GroundTruth,
    *,
    inverted_boxes: bool = False,
) -> Detections:
    """Read detections as columns, from a file or a folder, in the order of the source.

    `truth` gives the images and categories that may occur. `inverted_boxes` accepts boxes whose xmax is below xmin, or
    ymax below ymin, as the official programs do. What the command line warns of (rows and files that are left out,
    boxes in another unit than pixels) is a UserWarning.

    Raises `CodedError` with every problem found, as `read_submission` does.
    """
    require_truth(truth)
    tolerance = Tolerance(inverted_boxes=inverted_boxes)
    read = read_submission(path_of(path), truth, tolerance)
    for sentence in read.warnings:
        warnings.warn(sentence, stacklevel=2)
    TOLD.add(read.detections)
    return read.detections
