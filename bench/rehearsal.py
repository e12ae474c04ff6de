"""How long a rehearsal takes, and how many images a second one client connection processes."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.figures import row, show
from lpirc_testsets import load_test_set, read_ground_truth, synthesize

IMAGES = 5000
SIDE_PX = 96
TARGET_IMAGES_PER_S = 150
TARGET_REHEARSAL_S = 60


def measure() -> list[dict[str, Any]]:
    """Rehearse with the defaults, then replay 5,000 small images; print the table and return its rows."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        started_s = time.perf_counter()
        usual = _rehearse(folder / "usual")
        rehearsal_s = time.perf_counter() - started_s
        replay = _replayed(folder)
    rate = replay["images"] / replay["elapsed_s"]
    rows = [
        row(
            "referee rehearse, 200 images, in all (s)",
            rehearsal_s,
            TARGET_REHEARSAL_S,
        ),
        row("its run alone (s)", usual["elapsed_s"]),
        row(f"{IMAGES} images replayed (images/s)", rate, TARGET_IMAGES_PER_S),
    ]
    show("rehearsal", rows)
    return rows


def _replayed(folder: Path) -> dict[str, Any]:
    testset = folder / "testset"
    recording = folder / "perfect.csv"
    synthesize(
        testset,
        images=IMAGES,
        categories=10,
        seed=1,
        size=(SIDE_PX, SIDE_PX),
    )
    _write_perfect_detections(testset, recording)
    return _rehearse(
        folder / "replay", "--testset", testset, "--replay", recording, "--window", 600
    )


def _write_perfect_detections(testset: Path, path: Path) -> None:
    truth = read_ground_truth(testset)
    files = [image.file for image in load_test_set(testset).images]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["image", "class", "confidence", "xmin", "ymin", "xmax", "ymax"]
        )
        for image, category, box in zip(
            truth.image,
            truth.category,
            truth.boxes,
            strict=True,
        ):
            writer.writerow([files[image - 1], category, 0.9, *box])


def _rehearse(out: Path, *options: object) -> dict[str, Any]:
    command = [
        Path(sys.executable).with_name("referee"),
        "rehearse",
        "--json",
        "--out",
        out,
        *options,
    ]
    done = subprocess.run(  # noqa: S603
        [str(word) for word in command], check=True, stdout=subprocess.PIPE
    )
    document: dict[str, Any] = json.loads(done.stdout)
    return document
