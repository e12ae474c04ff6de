"""`python -m bench.contender NAME WORKLOAD`: time one scorer in a process of its own, print one JSON line.

Time runs from columns in memory, or from COCO's two files, to AP50: first all is loaded, ground truth included, then
scored. `cpu_s` is the processor time of all threads. Memory is the peak above what the process had before.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from bench.figures import peak_memory_mb
from bench.workload import Workload, results_path, truth_path
from lpirc_score import evaluate, tolerance_of
from lpirc_score.detections.files import read_submission
from lpirc_testsets import read_ground_truth

Load = Callable[[], Callable[[], float]]
TOOLS = {
    "hotcoco": ("hotcoco", "COCOeval"),
    "faster-coco-eval": ("faster_coco_eval", "COCOeval_faster"),
    "pycocotools": ("pycocotools.coco", "pycocotools.cocoeval", "COCOeval"),
}


def _ours(metric: str, from_files: bool, path: Path) -> Load:
    """Load and score; the value is the mAP, that of `coco` its AP50."""
    made = Workload.load(path)
    columns = made.ground_truth(), made.detections()

    def load() -> Callable[[], float]:
        truth, detections = columns
        if from_files:
            known = read_ground_truth(truth_path(path))
            read = read_submission(results_path(path), known, tolerance_of(metric))
            truth = read.ground_truth
            detections = read.detections
        return lambda: _value(evaluate(truth, detections, metric))

    return load


def _value(result: Any) -> float:
    return float(
        result.map if result.summary is None else result.summary["AP50"] or 0.0
    )


def _theirs(
    tool: str,
    twelve: bool,
    from_files: bool,
    path: Path,
) -> Load:
    modules = [import_module(name) for name in TOOLS[tool][:-1]]
    coco = modules[0].COCO
    evaluator = getattr(modules[-1], TOOLS[tool][-1])
    made = Workload.load(path)
    dataset = made.coco_dataset()
    results = made.coco_results()

    def load() -> Callable[[], float]:
        if from_files:
            truth = coco(str(truth_path(path)))
        else:  # only hotcoco takes columns
            columns = (made.gt_image, made.gt_category, made.gt_boxes)
            kept = {"area": made.area, "iscrowd": made.crowd}
            truth = coco.from_arrays(
                dataset["images"],
                dataset["categories"],
                *columns,
                **kept,
            )
        found = truth.loadRes(str(results_path(path)) if from_files else results)
        return lambda: _ap50(evaluator(truth, found, "bbox"), twelve)

    return load


def _ap50(judged: Any, twelve: bool) -> float:
    """AP50 from the summary of twelve numbers, or alone: one IoU, one range of areas."""
    if not twelve:
        judged.params.iouThrs = np.array([0.5])
        judged.params.areaRng = [[0, 1e10]]
        judged.params.areaRngLbl = ["all"]
        judged.params.maxDets = [100]
    judged.evaluate()
    judged.accumulate()
    if twelve:
        judged.summarize()
        return float(judged.stats[1])
    precision = np.asarray(judged.eval["precision"])
    return float(precision[precision > -1].mean())


CONTENDERS: dict[str, Callable[[Path], Load]] = {
    "ours, lpirc": partial(_ours, "lpirc", False),
    "ours, ilsvrc-det": partial(_ours, "ilsvrc-det", False),
    "hotcoco, one IoU": partial(_theirs, "hotcoco", False, False),
    "ours, coco (12 numbers)": partial(_ours, "coco", False),
    "hotcoco, 12 numbers": partial(_theirs, "hotcoco", True, False),
    "files: ours, lpirc": partial(_ours, "lpirc", True),
    "files: hotcoco, one IoU": partial(_theirs, "hotcoco", False, True),
    "files: ours, coco (12 numbers)": partial(_ours, "coco", True),
    "files: hotcoco, 12 numbers": partial(_theirs, "hotcoco", True, True),
    "files: faster-coco-eval, one IoU": partial(
        _theirs,
        "faster-coco-eval",
        False,
        True,
    ),
    "files: faster-coco-eval, 12 numbers": partial(
        _theirs,
        "faster-coco-eval",
        True,
        True,
    ),
    "files: pycocotools, one IoU": partial(_theirs, "pycocotools", False, True),
    "files: pycocotools, 12 numbers": partial(_theirs, "pycocotools", True, True),
}


def installed() -> list[str]:
    """Return the contenders whose program is installed: ours, and those of bench/requirements.lock if they are."""
    names = []
    for name in CONTENDERS:
        needed = [modules[0] for tool, modules in TOOLS.items() if tool in name]
        if all(find_spec(module.partition(".")[0]) for module in needed):
            names.append(name)
    return names


def main() -> None:
    """Run the contender named on the command line once, after the imports that it needs."""
    name = sys.argv[1]
    path = Path(sys.argv[2])
    with contextlib.redirect_stdout(io.StringIO()):
        load = CONTENDERS[name](path)
        gc.collect()
        # Linux: the peak becomes the memory in use now.
        Path("/proc/self/clear_refs").write_text("5")
        before_mb = peak_memory_mb()
        started_s = time.perf_counter()
        started_cpu_s = time.process_time()
        score = load()
        loaded_s = time.perf_counter()
        value = score()
        ended_s = time.perf_counter()
        ended_cpu_s = time.process_time()
    memory_mb = peak_memory_mb() - before_mb
    times = {
        "load_s": loaded_s - started_s,
        "score_s": ended_s - loaded_s,
        "total_s": ended_s - started_s,
        "cpu_s": ended_cpu_s - started_cpu_s,
    }
    sys.stdout.write(
        json.dumps({"ap50": value, **times, "memory_mb": memory_mb}) + "\n"
    )


if __name__ == "__main__":
    main()
