"""The provisional score and the uncertainty, as they are computed during and after a contest."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from bench import workload
from referee.judging.live import SHARE, TICK_S
from referee.judging.scoring_job import scored_detections
from referee.scoring import evaluate
from referee.scoring.bootstrap import bootstrap_samples

IMAGES = 20_000
# Images a second, detections an image, and the target for the oldest score that is shown (s).
PACES = ((33, 25, 2), (1000, 100, 10))
RESAMPLES = 1000
BOOTSTRAP_TARGET_S = 30


def measure() -> list[dict[str, Any]]:
    """One row a pace, and one row for the bootstrap."""
    return [*(_ages(*pace) for pace in PACES), _bootstrap()]


def _ages(images_per_s: int, per_image: int, target_s: int) -> dict[str, Any]:
    """How old the score becomes in a run whose detections arrive at that pace, until the next one is computed."""
    made = workload.make(IMAGES, per_image)
    order = np.argsort(made.image, kind="stable")
    boxes = made.detections().boxes
    rows = np.column_stack([made.image, made.category, made.confidence, boxes])[order]
    truth, step = made.ground_truth(), images_per_s * per_image
    window_s = len(rows) / step
    now_s, ages_s, costs_s = TICK_S, [], []
    while now_s <= window_s + TICK_S:
        started_s = time.process_time()
        evaluate(truth, scored_detections(rows[: int(now_s * step)].copy(), "lpirc"))
        costs_s.append(time.process_time() - started_s)
        pause_s = max(TICK_S, costs_s[-1] / SHARE)
        ages_s.append(pause_s + costs_s[-1])
        now_s += pause_s
    return {
        "what": f"oldest provisional score, {images_per_s}/s x {per_image} (s)",
        "measured": max(ages_s),
        "target": target_s,
        "median_s": float(np.median(ages_s)),
        "evaluations": len(costs_s),
        "core_percent": 100 * sum(costs_s) / window_s,
    }


def _bootstrap() -> dict[str, Any]:
    made = workload.make()
    truth, detections = made.ground_truth(), made.detections()
    started_s = time.perf_counter()
    bootstrap_samples(truth, detections, resamples=RESAMPLES)
    elapsed_s = time.perf_counter() - started_s
    what = f"bootstrap, {len(detections):,} detections, {RESAMPLES:,} resamples (s)"
    return {"what": what, "measured": elapsed_s, "target": BOOTSTRAP_TARGET_S}
