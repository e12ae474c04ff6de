"""The mAP that is left of a submission without its rows below a threshold of confidence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lpirc_score.metrics.detection_columns import Detections
from lpirc_score.metrics.metric_kinds import Rule
from lpirc_score.metrics.one_threshold import maps_over_time
from lpirc_testsets.ground_truth import GroundTruth

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

MOST = 40
LEAST_LOSS = 0.0005
"""An mAP that is lower by less than this, half of a tenth of a point, is as good."""


@dataclass(frozen=True, eq=False)
class ThresholdCurve:
    """The mAP and the rows that are left (t,) at each threshold, ascending; the first threshold leaves all rows.

    `best` is the highest threshold whose mAP is as good as the highest one: it has the fewest rows.
    """

    threshold: Floats
    map: Floats
    rows: Ints
    best: int


def threshold_curve(
    ground_truth: GroundTruth,
    detections: Detections,
    rule: Rule,
) -> ThresholdCurve | None:
    """Return the curve at up to MOST thresholds, spread evenly over the rows; None without rows.

    Raises as `evaluate` does.
    """
    if not len(detections):
        return None
    known = np.sort(detections.confidence)
    places = np.linspace(0, len(known) - 1, MOST).astype(np.int64)
    thresholds = np.unique(known[places])
    # The highest threshold is the first moment: rows come as it falls.
    passed = np.searchsorted(thresholds, detections.confidence, side="right")
    since = len(thresholds) - passed
    maps = maps_over_time(ground_truth, detections, since, len(thresholds), rule)[::-1]
    rows = len(known) - np.searchsorted(known, thresholds, side="left")
    as_good = np.flatnonzero(maps >= maps.max() - LEAST_LOSS)
    return ThresholdCurve(thresholds, maps, rows, int(as_good[-1]))
