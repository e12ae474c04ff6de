"""Contests of models over tiny test sets whose answers can be worked out by hand."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image

from lpirc_testsets import TestSet, import_coco, import_labels
from lpirc_tracks.submissions.open_track import images_sha256
from referee.contest import Contest, create_contest, open_contest
from tests.referee.factories import START
from tests.tflite_models import BLUE, GREEN, RED

TEAMS = ("alpha", "beta")
COLOURS = {
    "red": (250, 0, 0),
    "green": (0, 250, 0),
    "blue": (0, 0, 250),
}
LABELS = {"red": RED, "green": GREEN, "blue": BLUE}

LONG: dict[str, Any] = {
    **{
        f"latency__{name}": 20.0
        for name in ("min_ms", "p50_ms", "p90_ms", "p99_ms", "max_ms", "mean_ms")
    },
    "latency__repeat_means_ms": [20.0] * 100,
    "latency__counted": 300,
    "latency__total_s": 0.06,
    "settings__repeats": 100,
}
"""What makes `result` the document of 300 inferences of 20 ms."""


def colour_set(
    folder: Path,
    *images: tuple[str, int],
    name: str = "colours",
) -> TestSet:
    """Plain pictures of a colour, each with its label; `classifier` answers the colour's own."""
    pictures = folder / f"{name}-pictures"
    pictures.mkdir()
    lines = ["file,label"]
    for number, (colour, label) in enumerate(images, start=1):
        # No two alike: a test set may not hold an image twice.
        Image.new("RGB", (40 + number, 32), COLOURS[colour]).save(
            pictures / f"{number}.jpg",
            quality=95,
        )
        lines.append(f"{number}.jpg,{label}")
    labels = folder / f"{name}.csv"
    labels.write_text("\n".join(lines) + "\n")
    return import_labels(labels, pictures, folder / name)


def spot_set(folder: Path) -> TestSet:
    """Two pictures of 100 x 100: in each one red cell of `detector`, at a corner of its own, on black."""
    pictures = folder / "spot-pictures"
    pictures.mkdir()
    document: dict[str, Any] = {
        "images": [],
        "annotations": [],
        "categories": [{"id": 1, "name": "red"}],
    }
    for number, (x, y) in enumerate([(0, 0), (90, 40)], start=1):
        picture = Image.new("RGB", (100, 100))
        picture.paste((255, 0, 0), (x, y, x + 10, y + 10))
        picture.save(pictures / f"{number}.jpg", quality=100, subsampling=0)
        size = {"width": 100, "height": 100}
        document["images"].append({"id": number, "file_name": f"{number}.jpg"} | size)
        box = {
            "bbox": [x, y, 10, 10],
            "area": 100,
            "iscrowd": 0,
        }
        document["annotations"].append(
            {
                "id": number,
                "image_id": number,
                "category_id": 1,
            }
            | box
        )
    annotations = folder / "spots.json"
    annotations.write_text(json.dumps(document))
    return import_coco(annotations, pictures, folder / "spots")


@contextmanager
def model_contest(folder: Path, tracks: str) -> Iterator[Contest]:
    """A contest with the given [[tracks]] and two teams; test sets lie beside it."""
    station = '[[stations]]\nname = "one"\nmeter = "sim:"\n'
    create_contest(
        folder,
        f'name = "Models"\ntestset = "../colours"\n{station}{tracks}',
    )
    with open_contest(folder) as contest:
        for team in TEAMS:
            contest.store.teams.add(team, "hash", START)
        yield contest


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def result(
    test_set: TestSet,
    model: bytes,
    answers: list[int],
    /,
    **changes: Any,
) -> dict[str, Any]:
    """The document of a classification run by LPIRC 2018 track 1's rule: one answer an image, 2 ms each.

    A change is written `latency__mean_ms=3.0`.
    """
    count = len(test_set.images)
    processed = len(answers)
    made: dict[str, Any] = {
        "result_version": 1,
        "task": "classification",
        "preprocessing": "central-crop",
        "model": {
            "file": "model.tflite",
            "sha256": sha256(model),
            "size_bytes": len(model),
        },
        "images": {"count": count, "sha256": images_sha256(test_set)},
        "settings": {
            "threads": 1,
            "core": 0,
            "budget_s": 0.03 * count,
            "repeats": 1,
        },
        "processed": processed,
        "stopped_by": "end" if processed == count else "budget",
        "latency": {
            "mean_ms": 2.0,
            "sd_ms": 0.1,
            "p50_ms": 2.0,
            "p90_ms": 2.1,
            "p99_ms": 2.2,
            "min_ms": 1.8,
            "max_ms": 2.3,
            "counted": processed - 1,
            "first_ms": 9.0,
            "total_s": 0.002 * (processed - 1),
            "repeat_means_ms": [2.0],
            "is_stable": False,
        },
        "device": {
            "host": "board-7",
            "machine": "aarch64",
            "processor": "Cortex",
            "runtime": "LiteRT",
            "runtime_version": "2.3.0",
        },
        "started_utc": "2026-05-04T09:00:00+00:00",
        "timed": {"start_monotonic_s": 100.0, "end_monotonic_s": 101.0},
        "predictions": {
            "labels": [
                [image, answer, 0.9] for image, answer in enumerate(answers, start=1)
            ]
        },
        "energy": None,
    }
    for path, value in changes.items():
        *parents, last = path.split("__")
        place = made
        for parent in parents:
            place = place[parent]
        place[last] = value
    return made


def packed(document: dict[str, Any]) -> bytes:
    return json.dumps(document).encode()
