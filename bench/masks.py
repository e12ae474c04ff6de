"""COCO's twelve numbers of masks: ours beside pycocotools, from the same two files, by turns, each in its own process.

The workload is that of `bench.workload` with an outline in each box; time is the processor's, from the files on.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from bench import workload
from bench.figures import row, show

IMAGES = 5_000
PER_IMAGE = 36
ROUNDS = 3
TARGET = 0.8
CORNERS = 24
AGREEMENT = 1e-12


def measure() -> dict[str, Any]:
    """Measure both by turns, check that their numbers agree, print the table, return it."""
    measured: dict[str, list[float]] = {name: [] for name in CONTENDERS}
    numbers: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save(folder, IMAGES, PER_IMAGE)
        for _ in range(ROUNDS):
            for contender in CONTENDERS:
                found = _one(contender, folder)
                measured[contender].append(found["total_s"])
                numbers[contender] = found["numbers"]
    of_each = np.array([*numbers.values()])
    difference = float(np.ptp(of_each, axis=0).max())
    if difference > AGREEMENT:
        raise SystemExit(f"The numbers differ by {difference}: {numbers}")
    ours, theirs = (float(np.median(times)) for times in measured.values())
    rows = [
        row("ours (s)", ours),
        row("pycocotools (s)", theirs),
        row("ours / pycocotools", ours / theirs, f"<= {TARGET}"),
        row("largest difference of 12 numbers", difference, AGREEMENT),
    ]
    show(f"masks: {IMAGES:,} images, {IMAGES * PER_IMAGE:,} answers", rows)
    return {"masks": rows}


def save(
    folder: Path,
    images: int,
    per_image: int,
) -> None:
    """Write `truth.json`, with polygons and crowds, and `results.json`, with compressed run lengths."""
    from pycocotools import mask as masks

    made = workload.make(images, per_image)
    random = np.random.default_rng(0)
    height = workload.HEIGHT_PX
    width = workload.WIDTH_PX
    truth = made.coco_dataset()
    for entry, polygon in zip(
        truth["annotations"], _outlines(random, made.gt_boxes), strict=True
    ):
        entry["segmentation"] = [polygon]
        if entry["iscrowd"]:
            entry["segmentation"] = _coded(masks, polygon, height, width)
    (folder / "truth.json").write_text(json.dumps(truth))
    rows = zip(
        made.image.tolist(),
        made.category.tolist(),
        made.confidence.tolist(),
        _outlines(random, made.boxes),
        strict=True,
    )
    results = [
        {
            "image_id": image,
            "category_id": category,
            "score": score,
            "segmentation": _coded(masks, polygon, height, width),
        }
        for image, category, score, polygon in rows
    ]
    (folder / "results.json").write_text(json.dumps(results))


def _coded(
    masks: Any,
    polygon: list[float],
    height: int,
    width: int,
) -> dict[str, Any]:
    coded: dict[str, Any] = masks.frPyObjects([polygon], height, width)[0]
    return {"size": coded["size"], "counts": coded["counts"].decode()}


def _outlines(random: np.random.Generator, boxes: Any) -> list[list[float]]:
    """An uneven ellipse in each box (n, 4)."""
    angle = np.linspace(0, 2 * np.pi, CORNERS, endpoint=False)
    reach = random.uniform(0.8, 1, (len(boxes), CORNERS)) / 2
    x = boxes[:, :1] + boxes[:, 2:3] * (0.5 + reach * np.cos(angle))
    y = boxes[:, 1:2] + boxes[:, 3:] * (0.5 + reach * np.sin(angle))
    corners = np.stack([x.clip(0, workload.WIDTH_PX), y.clip(0, workload.HEIGHT_PX)], 2)
    found: list[list[float]] = corners.round(2).reshape(len(boxes), -1).tolist()
    return found


def _ours(folder: Path) -> list[float]:
    from lpirc_score.tasks.segm_files import evaluate_segm

    found = evaluate_segm(folder / "truth.json", folder / "results.json").others
    return [value for value in found.values() if value is not None]


def _theirs(folder: Path) -> list[float]:
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    truth = COCO(str(folder / "truth.json"))
    found = truth.loadRes(str(folder / "results.json"))
    judged = COCOeval(truth, found, "segm")
    judged.evaluate()
    judged.accumulate()
    judged.summarize()
    stats: list[float] = judged.stats.tolist()
    return stats


CONTENDERS = {"ours": _ours, "pycocotools": _theirs}


def _one(contender: str, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.masks", contender, str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured


def _contend() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.masks", description=__doc__)
    parser.add_argument("contender", choices=CONTENDERS)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    started_s = time.process_time()
    numbers = CONTENDERS[options.contender](options.folder)
    total_s = time.process_time() - started_s
    print(json.dumps({"total_s": total_s, "numbers": numbers}))  # noqa: T201


if __name__ == "__main__":
    _contend()
