"""The result of a metric, and the signature that identifies how it was computed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass

from lpirc_score.metrics.detection_columns import Detections
from lpirc_testsets.ground_truth import GroundTruth

VERSION = "1.0.0"
"""The program's version. Scoring reads no files, so it is stated here; a test compares it with the distribution's."""

RULES_VERSION = 1
"""Version of the scoring rules, raised whenever a score could change. A test pins it to the scores of fixed inputs."""

DIGEST_LENGTH = 12
"""The number of hexadecimal digits of a digest in a signature."""


@dataclass(frozen=True)
class Counts:
    """For one category: objects that count, detections that found one, and detections that did not."""

    objects: int
    true_positives: int
    false_positives: int


@dataclass(frozen=True)
class Evaluation:
    """The outcome of a metric: `ap` and `counts` by category id, and `map`, the mean AP in 0..1, never NaN.

    A category without ground truth has the AP None and is left out of the mean; if there is no other category, the mean
    is None, where pycocotools has -1. `coco` has no single threshold, so its `iou` is None and its counts are those at
    IoU .5. Only `coco` has a `summary`, the twelve numbers (None where the range of areas has no object), and `ap50`
    and `ap75`, the AP by category at IoU .5 and .75.
    """

    metric: str
    iou: float | None
    map: float | None
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
    """Return the outcome from the AP and the counts of every category; `map` is their exact mean."""
    scored = [value for value in ap.values() if value is not None]
    return Evaluation(
        metric=metric,
        iou=iou,
        map=math.fsum(scored) / len(scored) if scored else None,
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
    """Return one line such as `lpirc|iou:0.5|blacklist:none|gt:9f86d081|rules:1|v:1.0.0`, in the style of sacrebleu.

    `ground_truth` is the caller's digest of the ground truth. `engine` names the program if another program computed
    the number. A value of None leaves its part out.
    """
    parts = [metric, f"iou:{iou}", f"blacklist:{_blacklist(blacklist)}"]
    if ground_truth is not None:
        parts.append(f"gt:{ground_truth[:DIGEST_LENGTH]}")
    if engine is not None:
        parts.append(f"engine:{engine}")
    return "|".join([*parts, f"rules:{RULES_VERSION}", f"v:{VERSION}"])


def signature_parts(signature: str) -> dict[str, str]:
    """Return the parts of a signature by name, with its metric as `metric`; a repeated name keeps its first value."""
    parts = [part.partition(":") for part in f"metric:{signature}".split("|")]
    return {name: value for name, _, value in reversed(parts)}


def _blacklist(pairs: Iterable[tuple[int, int]]) -> str:
    lines = [f"{image},{category}" for image, category in sorted(set(pairs))]
    if not lines:
        return "none"
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    return f"{len(lines)}-{digest[:DIGEST_LENGTH]}"
