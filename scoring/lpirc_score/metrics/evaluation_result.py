"""The result of a metric, and the signature it was computed with."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass

from lpirc_score.metrics.detection_columns import Detections
from lpirc_testsets.ground_truth import GroundTruth

VERSION = "0.1.0"
"""The program's version; a test holds it equal to the distribution's, since scoring reads no files."""

RULES_VERSION = 1
"""Version of the scoring rules: it changes whenever a score could. A test pins scores of fixed inputs to it."""

DIGEST_LENGTH = 12
"""Hexadecimal digits of a digest that a signature shows."""


@dataclass(frozen=True)
class Counts:
    """One category's objects that count, detections that found one, and detections that did not."""

    objects: int
    true_positives: int
    false_positives: int


@dataclass(frozen=True)
class Evaluation:
    """The outcome of a metric: `ap` and `counts` by category id, `map` their mean in 0..1, never NaN.

    A category without ground truth has the AP None and is left out of the mean; without any other the mean is 0.
    `coco` has no single threshold, so its `iou` is None, its counts are those at IoU .5, and it alone has a
    `summary`: the twelve numbers, None where no object is in the range of areas; `ap50` and `ap75` are its AP by
    category at IoU .5 and .75.
    """

    metric: str
    iou: float | None
    map: float
    ap: dict[int, float | None]
    counts: dict[int, Counts]
    categories_with_ground_truth: int
    images: int
    detections: int
    signature: str = ""
    summary: dict[str, float | None] | None = None
    ap50: dict[int, float | None] | None = None
    ap75: dict[int, float | None] | None = None


def evaluation_of(
    metric: str,
    ground_truth: GroundTruth,
    detections: Detections,
    ap: dict[int, float | None],
    counts: dict[int, Counts],
    *,
    iou: float | None = None,
) -> Evaluation:
    """Return the outcome from the AP and the counts of every category; its `map` is an exact mean."""
    scored = [value for value in ap.values() if value is not None]
    return Evaluation(
        metric=metric,
        iou=iou,
        map=math.fsum(scored) / len(scored) if scored else 0.0,
        ap=ap,
        counts=counts,
        categories_with_ground_truth=len(scored),
        images=len(ground_truth.image_ids),
        detections=len(detections),
    )


def signature(
    metric: str,
    iou: float | str,
    blacklist: Iterable[tuple[int, int]],
    ground_truth: str | None,
    engine: str | None = None,
) -> str:
    """One line such as `lpirc|iou:0.5|blacklist:none|gt:9f86d081|rules:1|v:0.1.0`, in the manner of sacrebleu.

    `ground_truth` is the caller's digest of the ground truth, `engine` the program that computed the number if
    it is not this one; their parts are left out without them.
    """
    parts = [metric, f"iou:{iou}", f"blacklist:{_blacklist(blacklist)}"]
    if ground_truth is not None:
        parts.append(f"gt:{ground_truth[:DIGEST_LENGTH]}")
    if engine is not None:
        parts.append(f"engine:{engine}")
    return "|".join([*parts, f"rules:{RULES_VERSION}", f"v:{VERSION}"])


def signature_parts(signature: str) -> dict[str, str]:
    """The parts of a signature by name, its metric as `metric`; of two with one name the first counts."""
    parts = [part.partition(":") for part in f"metric:{signature}".split("|")]
    return {name: value for name, _, value in reversed(parts)}


def _blacklist(pairs: Iterable[tuple[int, int]]) -> str:
    lines = [f"{image},{category}" for image, category in sorted(set(pairs))]
    if not lines:
        return "none"
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return f"{len(lines)}-{digest[:DIGEST_LENGTH]}"
