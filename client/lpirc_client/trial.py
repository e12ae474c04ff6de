"""Tries a detector without a referee: for `check --detector`, and on one image before a log-in."""

from __future__ import annotations

import argparse
import json
import pkgutil
import re
import statistics
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Mapping, Sequence

from lpirc_client.answers import items_of
from lpirc_client.detectors import Detector, for_task, load, reason_of
from lpirc_client.errors import AnswerError, ClientError, printable
from lpirc_client.manifest import has_manifest, read_manifest
from lpirc_client.mean_ap import mean_ap
from lpirc_client.plausibility import FRACTIONS, doubts, jpeg_size
from lpirc_client.presence import is_file, is_folder, is_there
from lpirc_client.rows import UNNAMED, checked, listed
from lpirc_client.terminal import result, say
from lpirc_client.wire import Category, task_from

REFUSED = "refused"
WARNED = "warned"
FAILED = "the detector failed"
COLUMNS = ("weight", "what", "times", "image", "row", "value", "expected")
TRUTH_LISTS = ("images", "categories", "annotations")
FORM = "{:7}  {:23}  {:>5}  {:16}  {:>3}  {:36}  {}"  # a line of COLUMNS
SPEEDS = ("median_s", "p95_s", "slowest_s", "in_600_s", "all_images_s")
JSON_BEGUN = re.compile(r"[\[{]\s*[\"{\[\]}]")
ANY_IDS = dict.fromkeys(range(10_000), UNNAMED)


@dataclass
class Trial:
    """The time and valid rows of a detector for each image, and the first problem of each kind with its count.

    Images on which it `failed` are only counted.
    """

    detector: Detector
    categories: Sequence[Category]
    task: str | None = None
    times_s: dict[str, float] = field(default_factory=dict)
    good: dict[str, list[Sequence[float]]] = field(default_factory=dict)
    rows: int = 0
    failed: int = 0
    problems: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def look(
        self,
        image: str,
        jpeg: bytes,
    ) -> None:
        """Run the detector on an image and check its rows. Raises ClientError unless it is a JPEG."""
        size = jpeg_size(image, jpeg)
        names = {one.id: one.name for one in self.categories} or ANY_IDS
        found = []
        begun_s = time.perf_counter()
        try:
            given = self.detector(jpeg, self.categories)
            if self.task is not None:
                items_of(self.task, 1, given)
            else:
                found = list(listed(0, given))
        except AnswerError as error:
            self._note(REFUSED, image, 1, *map(str, error.facts.values()))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the contestant's own code
            self._note(
                REFUSED,
                image,
                1,
                FAILED,
                reason_of(error),
                "no exception",
            )
            self.failed += 1
            self.good[image] = []
            return
        self.times_s[image] = time.perf_counter() - begun_s
        self.rows += len(found)
        self.good[image] = []
        for place, row in enumerate(found, start=1):
            try:
                good = checked(0, [row], names)[1:]
            except AnswerError as error:
                self._note(REFUSED, image, place, *map(str, error.facts.values()))
                continue
            self.good[image].append(good)
            for what, value, expected in doubts(good, size):
                self._note(
                    WARNED,
                    image,
                    place,
                    what,
                    value,
                    expected,
                )

    def _note(
        self,
        weight: str,
        image: str,
        row: int,
        what: str,
        value: str,
        expected: str,
    ) -> None:
        first = dict(zip(COLUMNS, (weight, what, 0, image, row, value, expected)))
        self.problems.setdefault((weight, what), first)["times"] += 1


def preflight(
    detector: Detector,
    file: Path | None,
    health: Mapping[str, Any],
) -> None:
    """Try the detector with one image, `file` or ours, if `health` names the categories. Raises ClientError."""
    categories = tuple(
        Category(one["id"], one["name"]) for one in health.get("categories", ())
    )
    if not categories:
        return
    task = task_from(health)
    name = None if task is None else str(task["name"])
    tried = detector if name is None else for_task(detector, name)
    trial = Trial(tried, categories, name)
    jpeg = (
        pkgutil.get_data("lpirc_client", "preflight.jpg")
        if file is None
        else _read(file)
    )
    trial.look(str(file or "preflight.jpg"), jpeg or b"")
    for one in trial.problems.values():
        bad_row = "{image}, row {row}: {what} is {value}; expected {expected}"
        form = "{image}: {what}: {value}" if one["what"] == FAILED else bad_row
        text = f"preflight with {form.format_map(one)}"
        if (
            one["weight"] == REFUSED or one["what"] == FRACTIONS
        ):  # all rows would be for nothing
            raise ClientError(
                "preflight-failed", f"{text} (not logged in; --no-preflight skips this)"
            )
        say(printable(text))


def execute(options: argparse.Namespace) -> None:
    """Run the detector and print the result. Raises ClientError, also if a referee would refuse the rows."""
    detector = load(options.detector)
    if hasattr(detector, "description"):
        say(printable(detector.description))
    images, categories = _images_of(options.images)
    if options.ground_truth is not None:
        ids, objects, categories = _truth_of(options.ground_truth, images)
    if options.categories is not None:
        categories = _named_in(options.categories)
    trial = Trial(detector, tuple(categories))
    for name in list(images)[: options.limit]:
        trial.look(name, _read(images[name]))
    document = _document(trial, len(images))
    if options.ground_truth is not None:
        looked = {ids[name] for name in trial.good}
        rows = [(ids[name], *row) for name, good in trial.good.items() for row in good]
        document["map"] = mean_ap([one for one in objects if one[0] in looked], rows)
    by = _who_names_them(options.images)
    result(json.dumps(document) if options.json else _in_words(document, by))
    if trial.failed:
        reason = trial.problems[REFUSED, FAILED]["value"]
        sentence = f"{FAILED} on {trial.failed} of {len(trial.good)} images: {reason}"
        if not categories:
            sentence += f"; it was given no categories: name them with {by}"
        raise ClientError("detector-failed", sentence)
    if any(one["weight"] == REFUSED for one in document["problems"]):
        raise ClientError(
            "rows-refused", "a referee would refuse rows of this detector"
        )


def _named_in(file: Path) -> Sequence[Category]:
    """Return the categories of a file with one name on each line. Raises ClientError."""
    text = _read(file).decode(errors="replace")
    names = text.splitlines()
    why = ""
    if not names:
        why = "it names no category; write one name per line"
    elif _is_json(text):
        why = "it is JSON; write one name per line, or give COCO's file with --ground-truth"
    if why:
        raise ClientError("bad-categories", f"{file}: {why}")
    return [Category(number, name.strip()) for number, name in enumerate(names, 1)]


def _is_json(text: str) -> bool:
    """Return True for JSON, also for JSON Lines or with a slip; a name may begin with a bracket, too."""
    begun = text.lstrip()
    if begun[:1] not in ("{", "["):
        return False
    first = begun.splitlines()[0].strip()
    if first in ("{", "[") or JSON_BEGUN.match(begun):
        return True
    return _parses(first) or _parses(begun)


def _parses(text: str) -> bool:
    try:
        return json.loads(text) is not None
    except (ValueError, RecursionError):
        return False


def _who_names_them(folder: Path) -> str:
    """Return the option by which the detector is given the categories: the test set around the images has them."""
    parent = folder.parent if folder.name else folder.resolve().parent
    return f"--images {parent}" if has_manifest(parent) else "--categories FILE"


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise _unreadable(file, error) from error


def _unreadable(path: Path, error: OSError) -> ClientError:
    return ClientError("cannot-read", f"{path}: cannot be read: {error.strerror}")


def _images_of(folder: Path) -> tuple[dict[str, Path], Sequence[Category]]:
    """Return the images of a test-set folder or of any folder by name, and the categories that are known."""
    if has_manifest(folder):
        manifest = read_manifest(folder)
        return {
            one.file: folder / "images" / one.file for one in manifest.images
        }, manifest.categories
    images = {
        one.name: one
        for one in _listed(folder)
        if one.suffix.lower() in (".jpg", ".jpeg")
    }
    if not images:
        what = "neither a test set nor a folder with JPEG files"
        if not is_there(folder):
            what = "there is no such folder"
        elif is_file(folder):
            what = "it is a file; give the folder with the images"
        raise ClientError("no-images", f"{folder}: {what}")
    return images, ()


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _unreadable(folder, error) from error


def _truth_of(
    path: Path, images: Mapping[str, Path]
) -> tuple[dict[str, int], list[Any], Sequence[Category]]:
    """Read a COCO file or a test set's ground truth: image ids by name, objects without crowds, categories."""
    try:
        file = path / "ground_truth.json" if is_folder(path) else path
    except OSError as error:
        raise _unreadable(path, error) from error
    try:
        document = json.loads(_read(file))
        ids = {one["file_name"]: one["id"] for one in document["images"]}
        categories = [
            Category(one["id"], one["name"]) for one in document["categories"]
        ]
        objects = [
            (
                one["image_id"],
                one["category_id"],
                (x, y, width + (x - 1), height + (y - 1)),
            )
            for one in document["annotations"]
            for x, y, width, height in [map(float, one["bbox"])]
            if not one.get("iscrowd")
        ]
        return {name: ids[name] for name in images}, objects, categories
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = _why_no_truth(file, images)
        sentence = f"{file}: not the ground truth of these images in COCO format: {why}"
        raise ClientError("bad-ground-truth", sentence) from error


def _why_no_truth(file: Path, images: Mapping[str, Path]) -> str:
    """Return what a file of ground truth lacks."""
    try:
        document = json.loads(_read(file))
    except ValueError:
        return "it is not JSON"
    if not isinstance(document, dict):
        return "it is no object with images, categories and annotations, but COCO's results perhaps"
    missing = [key for key in TRUTH_LISTS if not isinstance(document.get(key), list)]
    if missing:
        return f"it has no list {missing[0]!r}"
    names = [
        one.get("file_name") for one in document["images"] if isinstance(one, dict)
    ]
    unknown = [name for name in images if name not in names]
    if unknown:
        return f"it has no image {unknown[0]!r}"
    return "an entry lacks a value, or has one of another type"


def _document(trial: Trial, images: int) -> dict[str, Any]:
    return {
        "images": len(trial.good),
        "failed": trial.failed,
        "rows": trial.rows,
        "rows_per_image": trial.rows / len(trial.good),
        **_times([*trial.times_s.values()], images),
        "all_images": images,
        "categories": len(trial.categories),
        "problems": [trial.problems[kind] for kind in sorted(trial.problems)],
    }


def _times(times_s: Sequence[float], images: int) -> dict[str, float | None]:
    """Return the figures of speed: None each if the detector failed on all images."""
    if not times_s:
        return dict.fromkeys(SPEEDS)
    ascending = sorted(times_s)
    # The first image takes longer; before a run the preflight does.
    steady_s = max(statistics.mean([*times_s[1:]] or ascending), 1e-9)
    return {
        "median_s": statistics.median(ascending),
        "p95_s": ascending[-(len(ascending) // 20) - 1],
        "slowest_s": ascending[-1],
        "in_600_s": int(600 / steady_s),
        "all_images_s": steady_s * images,
    }


def _in_words(document: dict[str, Any], by: str) -> str:
    lines = ["{images} images, {rows} rows, {rows_per_image:.1f} an image"]
    if document["median_s"] is not None:
        lines += [
            "an image takes {median_s:.4g} s (median), {p95_s:.4g} s (95 %), {slowest_s:.4g} s (slowest)",
            "in ten minutes: {in_600_s} images; all {all_images} of the folder: {all_images_s:.1f} s",
        ]
    if "map" in document:
        lines.append("mAP: {map:.4f}")
    if not document["categories"]:
        lines.append(
            "no categories are known, so ids are not checked; to give them to the detector: {by}"
        )
    told = [line.format_map({**document, "by": by}) for line in lines]
    if document["problems"]:
        told.append(FORM.format(*COLUMNS))
    for problem in document["problems"]:
        cells = (printable(str(problem[key])) for key in COLUMNS)
        told.append(FORM.format(*cells))
    return "\n".join(told)
