"""Our scorer beside pycocotools, faster-coco-eval and hotcoco: interleaved, in one run, in processes of their own.

The last two are in bench/requirements.lock; those that are not installed are left out.

Then the provisional score and the uncertainty, as they are computed during and after a contest.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench import workload
from bench.contender import installed
from bench.figures import row, show
from lpirc_score import evaluate
from lpirc_score.analysis.error_types import analyse_errors, worst_images
from lpirc_score.analysis.halves import HALVES, half_maps
from referee.judging.provisional_scores import SHARE, TICK_S
from referee.judging.scoring_job import scored_detections

IMAGES = (1_000, 5_000, 20_000)
"""Of the workloads, each with 100 detections of an image."""
ROUNDS = 7
SLOW = ("files: pycocotools", "files: faster-coco-eval")
"""Measured once, and not with the largest workload."""
AGREEMENT = 1e-9
TARGETS = (
    ("ours, lpirc", "hotcoco, one IoU", 0.4),
    ("ours, coco (12 numbers)", "hotcoco, 12 numbers", 0.3),
    ("files: ours, lpirc", "files: hotcoco, one IoU", 1.2),
    ("files: ours, coco (12 numbers)", "files: hotcoco, 12 numbers", 0.9),
)
"""The share of the other's processor time, loading included, that ours may take."""
MEMORY_SHARE = 1.2
"""The share of the other's memory that ours may take."""
MEMORY_TARGET_MB = 80
LIVE_IMAGES = 20_000
# Images a second, detections an image, and the target for the oldest score that is shown (s).
PACES = ((33, 25, 2), (1000, 100, 10))
ERRORS_TARGET_S = 1
HALVES_TARGET_S = {"lpirc": 15, "voc-11": 15, "coco": 120}


def measure() -> dict[str, Any]:
    """Measure every size, check that those of COCO's metric agree, print the tables, return them."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for images in IMAGES:
            path = Path(name) / f"{images}.npz"
            made = workload.make(images)
            made.save(path)
            scorers = _interleaved(path)
            _print(len(made.image), scorers)
            rows.append({"detections": len(made.image), "scorers": scorers})
    beside = [
        *(_ages(*pace) for pace in PACES),
        *(_halves(*each) for each in HALVES_TARGET_S.items()),
        *(_errors(metric) for metric in ("lpirc", "coco")),
    ]
    show("live and uncertainty", beside)
    return {"scorers": rows, "live": beside}


def _interleaved(path: Path) -> list[dict[str, Any]]:
    names = installed()
    measured: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for round_ in range(ROUNDS):
        for name in names:
            if not name.startswith(SLOW) or (
                round_ == 0 and path.stem != str(IMAGES[-1])
            ):
                measured[name].append(_one(name, path))
    rows: list[dict[str, Any]] = []
    for name, runs in measured.items():
        if not runs:
            continue
        row: dict[str, Any] = {"scorer": name, "rounds": len(runs)}
        for key in runs[0]:
            row[key] = statistics.median(run[key] for run in runs)
        rows.append(row)
    return rows


def _one(name: str, path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.contender", name, str(path)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def _print(detections: int, scorers: list[dict[str, Any]]) -> None:
    show(f"{detections:,} detections: medians; memory above the columns", scorers)
    by_name = {one["scorer"]: one for one in scorers}
    same = {name: one["ap50"] for name, one in by_name.items() if "coco" in name}
    if max(same.values()) - min(same.values()) > AGREEMENT:
        raise SystemExit(f"The scorers disagree: {same}")
    shares = []
    for ours, theirs, most in TARGETS:
        if theirs in by_name:
            shares += _beside(by_name, ours, theirs, most)
    memory = [
        row(
            f"{ours}: memory (MB)",
            by_name[ours]["memory_mb"],
            f"<= {MEMORY_TARGET_MB} at 2,000,000",
        )
        for ours, _, _ in TARGETS[:2]
    ]
    show("targets", [*shares, *memory])


def _beside(
    by_name: dict[str, dict[str, Any]],
    ours: str,
    theirs: str,
    most: float,
) -> list[dict[str, Any]]:
    """Compare processor time and memory with another program's."""
    what = f"{ours} / {theirs}"
    of_ours = by_name[ours]
    of_theirs = by_name[theirs]
    time_share = of_ours["cpu_s"] / of_theirs["cpu_s"]
    memory_share = of_ours["memory_mb"] / of_theirs["memory_mb"]
    return [
        row(f"{what}: processor time", time_share, f"<= {most}"),
        row(f"{what}: memory", memory_share, f"<= {MEMORY_SHARE}"),
    ]


def _ages(images_per_s: int, per_image: int, target_s: int) -> dict[str, Any]:
    """How old the score becomes in a run whose detections arrive at that pace, until the next one is computed."""
    made = workload.make(LIVE_IMAGES, per_image)
    order = np.argsort(made.image, kind="stable")
    boxes = made.detections().boxes
    rows = np.column_stack([made.image, made.category, made.confidence, boxes])[order]
    truth = made.ground_truth()
    step = images_per_s * per_image
    window_s = len(rows) / step
    now_s = TICK_S
    ages_s = []
    costs_s = []
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


def _halves(metric: str, target_s: int) -> dict[str, Any]:
    made = workload.make()
    truth = made.ground_truth()
    detections = made.detections()
    started_s = time.perf_counter()
    half_maps(truth, detections, metric)
    elapsed_s = time.perf_counter() - started_s
    what = f"{HALVES} halves by {metric}, {len(detections):,} detections (s)"
    return {
        "what": what,
        "measured": elapsed_s,
        "target": target_s,
    }


def _errors(metric: str) -> dict[str, Any]:
    """Time the types of errors, as `--errors` analyses them, of the largest workload."""
    made = workload.make(IMAGES[-1])
    truth = made.ground_truth()
    detections = made.detections()
    elapsed = []
    for _ in range(3):
        started_s = time.process_time()
        analysis = analyse_errors(truth, detections, metric)
        worst_images(truth, detections, analysis)
        elapsed.append(time.process_time() - started_s)
    return {
        "what": f"types of errors by {metric}, {len(detections):,} detections (processor s)",
        "measured": statistics.median(elapsed),
        "target": ERRORS_TARGET_S,
    }
