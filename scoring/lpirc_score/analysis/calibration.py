"""Whether a confidence of 0.8 means that 8 of 10 such detections are true: reliability curve and calibration error.

Source: Guo et al., "On Calibration of Modern Neural Networks", ICML 2017: bins of equal width, and the expected
calibration error ECE = sum over bins of |precision - mean confidence| x share of the detections. Detections are judged
as by the metric, so the second detection of an object is false. Its ECE cannot see missed objects.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lpirc_score.analysis.judged_rows import iou_of, judged_categories, matched_by
from lpirc_score.errors import CodedError
from lpirc_score.metrics.detection_columns import Detections, require_columns
from lpirc_testsets.ground_truth import GroundTruth
from lpirc_testsets.values import shown

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

BINS = 10
MOST_BINS = 1000


@dataclass(frozen=True)
class CalibrationBin:
    """The detections whose confidence is at least `low` and below `high` (in the last bin: at most `high`).

    `precision` is the share of true ones, `confidence` the mean confidence; both are None without detections.
    """

    low: float
    high: float
    count: int
    precision: float | None
    confidence: float | None

    @property
    def gap(self) -> float | None:
        """Return how far precision and mean confidence lie apart, None without detections."""
        if self.precision is None or self.confidence is None:
            return None
        return abs(self.precision - self.confidence)


@dataclass(frozen=True)
class Calibration:
    """The bins, ascending, over all categories together; `ece` and `mce` are the mean and the largest gap (0..1).

    `rule` is the metric that matched. `by_category` has the ECE of each category's own detections by its id. Without
    detections each of them is None.
    """

    rule: str
    iou: float
    detections: int
    ece: float | None
    mce: float | None
    bins: tuple[CalibrationBin, ...]
    by_category: dict[int, float | None]


def calibration(
    ground_truth: GroundTruth,
    detections: Detections,
    metric: str = "lpirc",
    iou: float | None = None,
    bins: int = BINS,
) -> Calibration:
    """Return the calibration of the detections that count by a metric.

    `iou` is the overlap at which a detection is true: by default the metric's own, 0.5 for `coco`, which takes its ten
    only. Raises `CodedError` as `evaluate` does, `bad-iou`, `bad-bins`, and `bad-confidence` for a confidence outside
    0..1.
    """
    require_columns(ground_truth, detections)
    if type(bins) is not int or not 1 <= bins <= MOST_BINS:
        sentence = f"A reliability curve has 1 to {MOST_BINS} bins, not {shown(bins)}."
        raise CodedError("bad-bins", sentence, bins=shown(bins))
    refuse_other_scales(detections.confidence)
    confidence = [np.empty(0)]
    is_true = [np.empty(0, np.bool_)]
    by_category: dict[int, float | None] = {}
    for one in judged_categories(ground_truth, detections, metric, iou):
        confidence.append(one.confidence)
        is_true.append(one.is_true)
        own = _binned(one.confidence, one.is_true, bins)
        by_category[one.id] = _error(own)
    every = np.concatenate(confidence)
    binned = _binned(every, np.concatenate(is_true), bins)
    return Calibration(
        rule=matched_by(metric),
        iou=iou_of(metric, iou),
        detections=len(every),
        ece=_error(binned),
        mce=max((gap for gap, _ in _gaps(binned)), default=None),
        bins=binned,
        by_category=by_category,
    )


def are_shares(confidence: Floats) -> bool:
    """Return True if every confidence is from 0 to 1, so that it can be compared with a share of true detections."""
    return not ((confidence < 0) | (confidence > 1)).any()


def refuse_other_scales(confidence: Floats) -> None:
    """Raise `CodedError` `bad-confidence` unless `are_shares`."""
    if not are_shares(confidence):
        outside = confidence[(confidence < 0) | (confidence > 1)]
        value = float(outside[0])
        sentence = (
            f"A calibration needs confidences from 0 to 1, but one is {value:g}; "
            "map them to that range first."
        )
        raise CodedError("bad-confidence", sentence, confidence=value)


def _binned(
    confidence: Floats,
    is_true: Bools,
    bins: int,
) -> tuple[CalibrationBin, ...]:
    # A confidence that is the double nearest to an edge is in the upper bin.
    edges = np.arange(bins + 1) / bins
    place = np.searchsorted(edges[1:-1], confidence, side="right")
    count = np.bincount(place, minlength=bins)
    true = np.bincount(place, is_true, bins)
    total = np.bincount(place, confidence, bins)
    binned = []
    for at in range(bins):
        low = float(edges[at])
        high = float(edges[at + 1])
        size = int(count[at])
        if size:
            precision = float(true[at] / size)
            mean = float(total[at] / size)
            binned.append(CalibrationBin(low, high, size, precision, mean))
        else:
            binned.append(CalibrationBin(low, high, 0, None, None))
    return tuple(binned)


def _gaps(binned: tuple[CalibrationBin, ...]) -> list[tuple[float, int]]:
    """Return the gap and the number of detections of each bin that has detections."""
    return [(one.gap, one.count) for one in binned if one.gap is not None]


def _error(binned: tuple[CalibrationBin, ...]) -> float | None:
    gaps = _gaps(binned)
    if not gaps:
        return None
    weighted = [gap * count for gap, count in gaps]
    return math.fsum(weighted) / sum(count for _, count in gaps)
