"""The running score and the uncertainty, as they would be computed during and after a contest."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from bench import workload
from referee.scoring import Detections, evaluate
from referee.scoring.bootstrap import bootstrap
from referee.scoring.running import RunningEvaluation

# Images a second, detections an image, and the target for the 99th percentile of a tick (ms).
PACES = ((33, 25, 50), (1000, 100, 150))
RESAMPLES = 1000
BOOTSTRAP_DETECTIONS = 500_000
BOOTSTRAP_TARGET_S = 30


def measure() -> list[dict[str, Any]]:
    """One row a pace, one tick a second of the contest; and one row for the bootstrap."""
    return [*(_ticks(*pace) for pace in PACES), _bootstrap()]


def _ticks(images_per_s: int, per_image: int, target_ms: int) -> dict[str, Any]:
    made = workload.make(workload.IMAGES * per_image)
    order = np.argsort(made.image, kind="stable")
    truth, step = made.ground_truth(), images_per_s * per_image
    running, ticks_s = RunningEvaluation(truth), []
    cpu_s = time.process_time()
    for first in range(0, len(order), step):
        part = order[first : first + step]
        arrived = Detections(made.image[part], made.category[part], made.confidence[part], made.boxes[part])
        started_s = time.perf_counter()
        running.add(arrived)
        value = running.evaluation().map
        ticks_s.append(time.perf_counter() - started_s)
    cpu_s = time.process_time() - cpu_s
    whole = Detections(made.image[order], made.category[order], made.confidence[order], made.boxes[order])
    if value != evaluate(truth, whole).map:
        raise SystemExit("The running mAP is not the batch's.")
    return {
        "what": f"live tick p99, {images_per_s}/s x {per_image} (ms)",
        "measured": float(np.percentile(ticks_s, 99) * 1000),
        "target": target_ms,
        "median_ms": float(np.median(ticks_s) * 1000),
        "ticks": len(ticks_s),
        "core_percent": 100 * cpu_s / len(ticks_s),
    }


def _bootstrap() -> dict[str, Any]:
    made = workload.make(BOOTSTRAP_DETECTIONS)
    truth, detections = made.ground_truth(), made.detections()
    started_s = time.perf_counter()
    bootstrap(truth, detections, resamples=RESAMPLES)
    elapsed_s = time.perf_counter() - started_s
    what = f"bootstrap, {BOOTSTRAP_DETECTIONS:,} detections, {RESAMPLES:,} resamples (s)"
    return {"what": what, "measured": elapsed_s, "target": BOOTSTRAP_TARGET_S}
