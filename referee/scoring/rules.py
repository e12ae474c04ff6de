"""The metrics by name: what differs between rules that share matching, order and average precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from referee.errors import RefereeError
from referee.scoring.overlap import object_thresholds

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Rule:
    """A metric: its usual IoU, and the overlap (G,) it asks of each object, from boxes (G, 4) and the IoU."""

    name: str
    iou: float
    thresholds: Callable[[Floats, float], Floats]


def _same_for_all(boxes: Floats, iou: float) -> Floats:
    return np.full(len(boxes), iou)


RULES = {
    rule.name: rule
    for rule in (
        # Alyamkin et al., "2018 Low-Power Image Recognition Challenge" and DATE 2018: at least 50 % overlap.
        Rule("lpirc", 0.5, _same_for_all),
        # ILSVRC development kit, eval_detection.m: small objects ask for less.
        Rule("ilsvrc-det", 0.5, object_thresholds),
    )
}

METRICS = tuple(RULES)
"""The names of the metrics that `evaluate` knows."""


def rule_named(metric: str) -> Rule:
    """Return the rule of a metric. Raises `RefereeError` `unknown-metric`."""
    if metric not in RULES:
        known = ", ".join(METRICS)
        raise RefereeError("unknown-metric", f"There is no metric {metric!r}; choose one of {known}.")
    return RULES[metric]


def checked_iou(iou: float) -> float:
    """Return the IoU threshold when it lies in (0, 1]. Raises `RefereeError` `bad-iou`."""
    if not (math.isfinite(iou) and 0 < iou <= 1):
        raise RefereeError(
            "bad-iou", f"An IoU threshold lies above 0 and up to 1, {iou} does not.", iou=str(iou)
        )
    return float(iou)
