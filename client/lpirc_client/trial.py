"""The dry run of `check --detector`: a detector on a folder of images, every row checked, without a referee."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lpirc_client import detectors
from lpirc_client.errors import ClientError, printable
from lpirc_client.manifest import NAME, read_manifest
from lpirc_client.mean_ap import mean_ap
from lpirc_client.row_checks import REFUSED, Problem, jpeg_size, problems_of
from lpirc_client.terminal import result
from lpirc_client.wire import Category

COLUMNS = ("weight", "kind", "times", "image", "row", "value", "expected")


@dataclass
class Trial:
    """A detector's seconds and good rows by image, and the first problem of each kind with how often there was one."""

    times_s: dict[str, float] = field(default_factory=dict)
    good: dict[str, list[list[float]]] = field(default_factory=dict)
    rows: int = 0
    problems: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def look(
        self, name: str, jpeg: bytes, detector: detectors.Detector, categories: Sequence[Category]
    ) -> None:
        """Run the detector on an image and check its rows. Raises ClientError for what is no JPEG."""
        size = jpeg_size(name, jpeg)
        found: list[Any] = []
        begun_s = time.perf_counter()
        try:
            found.extend(detector(jpeg, categories))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - it is anybody's code
            what = f"{type(error).__name__}: {error}"
            failure = Problem(REFUSED, "the detector failed", what, "rows, [] where nothing is found")
            self._note(name, len(found) + 1, failure)
        self.times_s[name] = time.perf_counter() - begun_s
        self.rows += len(found)
        self.good[name] = []
        for number, row in enumerate(found, start=1):
            problems = list(problems_of(row, categories, size))
            for problem in problems:
                self._note(name, number, problem)
            if all(problem.weight != REFUSED for problem in problems):
                self.good[name].append([*map(float, row)])

    def _note(self, image: str, row: int, problem: Problem) -> None:
        first = {"times": 0, "image": image, "row": row, **problem._asdict()}
        self.problems.setdefault((problem.weight, problem.kind), first)["times"] += 1


def execute(options: argparse.Namespace) -> None:
    """Run the detector and say what it did. Raises ClientError, also where a referee would refuse rows."""
    detector, trial = detectors.load(options.detector), Trial()
    try:
        images, categories = _images_of(options.images)
        if options.ground_truth is not None:
            ids, objects, categories = _truth_of(options.ground_truth, images)
        if options.categories is not None:
            lines = options.categories.read_text(encoding="utf-8", errors="replace").splitlines()
            categories = tuple(Category(number, line.strip()) for number, line in enumerate(lines, start=1))
        for name in list(images)[: options.limit]:
            trial.look(name, images[name].read_bytes(), detector, categories)
    except OSError as error:
        raise ClientError("cannot-read", f"{error.filename}: cannot be read: {error.strerror}") from error
    document = {**_document(trial, len(images)), "categories": len(categories)}
    if options.ground_truth is not None:
        objects = [one for one in objects if one[0] in {ids[name] for name in trial.good}]
        rows = [(ids[name], *row) for name, good in trial.good.items() for row in good]
        document["map"] = mean_ap(objects, rows)
    result(json.dumps(document) if options.json else _in_words(document))
    if any(one["weight"] == REFUSED for one in document["problems"]):
        raise ClientError("rows-refused", "a referee would refuse rows of this detector")


def _images_of(folder: Path) -> tuple[dict[str, Path], tuple[Category, ...]]:
    """Return the images of a test-set folder or of any folder by name, and the categories that are known."""
    if (folder / NAME).exists():
        manifest = read_manifest(folder)
        return {one.file: folder / "images" / one.file for one in manifest.images}, manifest.categories
    images = {one.name: one for one in sorted(folder.iterdir()) if one.suffix.lower() in (".jpg", ".jpeg")}
    if not images:
        raise ClientError("no-images", f"{folder}: neither a test set nor a folder with JPEG files")
    return images, ()


def _truth_of(
    path: Path, images: Mapping[str, Path]
) -> tuple[dict[str, int], list[Any], tuple[Category, ...]]:
    """Read a COCO file, or a test set's: the ids of the images by name, the objects but no crowds, the categories."""
    file = path / "ground_truth.json" if path.is_dir() else path
    try:
        document = json.loads(file.read_bytes())
        ids = {one["file_name"]: one["id"] for one in document["images"]}
        categories = tuple(Category(one["id"], one["name"]) for one in document["categories"])
        objects = [
            (one["image_id"], one["category_id"], (x, y, width + (x - 1), height + (y - 1)))
            for one in document["annotations"]
            for x, y, width, height in [map(float, one["bbox"])]
            if not one.get("iscrowd")
        ]
        return {name: ids[name] for name in images}, objects, categories
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        sentence = f"{file}: not the ground truth of these images in COCO form: {error!r}"
        raise ClientError("bad-ground-truth", sentence) from error


def _document(trial: Trial, images: int) -> dict[str, Any]:
    times_s = sorted(trial.times_s.values())
    # The first image takes longer; before a run the preflight does.
    steady_s = max(statistics.mean([*trial.times_s.values()][1:] or times_s), 1e-9)
    return {
        "images": len(times_s),
        "rows": trial.rows,
        "rows_per_image": trial.rows / len(times_s),
        "median_s": statistics.median(times_s),
        "p95_s": times_s[-(len(times_s) // 20) - 1],
        "slowest_s": times_s[-1],
        "slowest": max(trial.times_s, key=trial.times_s.__getitem__),
        "in_ten_minutes": int(600 / steady_s),
        "all_images": images,
        "all_images_s": steady_s * images,
        "problems": [trial.problems[kind] for kind in sorted(trial.problems)],
    }


def _in_words(document: dict[str, Any]) -> str:
    lines = [
        "{images} images, {rows} rows, {rows_per_image:.1f} an image",
        "an image: {median_s:.4f} s (median), {p95_s:.4f} s (95 %), {slowest_s:.4f} s (slowest, {slowest})",
        "in ten minutes: {in_ten_minutes} images; all {all_images} here: {all_images_s:.1f} s",
        "mAP: {map:.4f}" if "map" in document else "mAP: unknown without --ground-truth",
        *["the ids are not checked: name the categories with --categories"] * (not document["categories"]),
    ]
    lines = [line.format_map(document) for line in lines]
    cells = [[printable(str(one[key]))[:48] for key in COLUMNS] for one in document["problems"]]
    for row in [COLUMNS, *cells] if cells else ():
        lines.append("{:7}  {:37}  {:>5}  {:16}  {:>3}  {:32}  {}".format(*row))
    return "\n".join(lines)
