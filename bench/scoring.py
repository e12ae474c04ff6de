"""Our scorer beside pycocotools, faster-coco-eval, hotcoco and the floor: interleaved, in one run, in own processes."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench import live, workload
from bench.contender import CONTENDERS

SIZES = (100_000, 500_000, 2_000_000)
ROUNDS = 5
ROUNDS_OF_THE_SLOW = 1
SLOW = ("pycocotools", "faster-coco-eval")
# These compute the same number: AP at IoU 0.5 of 101 points, without the +1 of the contest's rule.
SAME_NUMBER = ("ours, coco (12 numbers)", "pycocotools", "faster-coco-eval", "hotcoco")
AGREEMENT = 1e-9


def measure() -> dict[str, Any]:
    """Measure every size, check that those of COCO's metric agree, print the tables, return them."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        for size in SIZES:
            path = Path(name) / f"{size}.npz"
            workload.make(size).save(path)
            rows.append({"detections": size} | _interleaved(path))
    beside = live.measure()
    _print(rows)
    table = Table("live and uncertainty", "measured", "target")
    for row in beside:
        table.add_row(row["what"], f"{row['measured']:.1f}", str(row["target"]))
    Console().print(table)
    return {"scorers": rows, "live": beside}


def _interleaved(path: Path) -> dict[str, Any]:
    measured: dict[str, list[dict[str, float]]] = {name: [] for name in CONTENDERS}
    for round_ in range(ROUNDS):
        for name in CONTENDERS:
            if name not in SLOW or round_ < ROUNDS_OF_THE_SLOW:
                measured[name].append(_one(name, path))
    _require_agreement({name: measured[name][0]["map"] for name in SAME_NUMBER})
    return {
        name: {
            "median_s": statistics.median(one["elapsed_s"] for one in runs),
            "least_s": min(one["elapsed_s"] for one in runs),
            "memory_mb": max(one["memory_mb"] for one in runs),
            "map": runs[0]["map"],
            "rounds": len(runs),
        }
        for name, runs in measured.items()
    }


def _one(name: str, path: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "bench.contender", name, str(path)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def _require_agreement(maps: dict[str, float]) -> None:
    if max(maps.values()) - min(maps.values()) > AGREEMENT:
        raise SystemExit(f"The scorers disagree: {maps}")


def _print(rows: list[dict[str, Any]]) -> None:
    table = Table(
        "scorer",
        *(f"{row['detections']:,}" for row in rows),
        title="median time; peak memory above the columns",
    )
    for name in CONTENDERS:
        cells = [f"{row[name]['median_s'] * 1000:.0f} ms, {row[name]['memory_mb']:.0f} MB" for row in rows]
        table.add_row(name, *cells)
    Console().print(table)
    for row in rows:
        ours, floor = row["ours, lpirc"]["median_s"], row["the floor"]["median_s"]
        ratios = {
            "of hotcoco's time": ours / row["hotcoco"]["median_s"],
            "times faster than pycocotools": row["pycocotools"]["median_s"] / ours,
            "times the floor": ours / floor,
        }
        Console().print(f"{row['detections']:,}: " + ", ".join(f"{v:.2f} {k}" for k, v in ratios.items()))
