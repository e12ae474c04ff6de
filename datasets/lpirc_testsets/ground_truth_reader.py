"""Reads ground truth in any of its formats."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np

from lpirc_testsets import coco_reader, csv_reader
from lpirc_testsets.errors import Problems, TestSetError
from lpirc_testsets.file_bytes import IS_BUNDLE, Name, file_bytes, path_of
from lpirc_testsets.folder import (
    CONTEST,
    MANIFEST,
    TestSet,
    load_test_set,
    set_above,
)
from lpirc_testsets.folder_content import (
    TEXT,
    XML,
    is_bundle,
    is_run_export,
    kinds_in,
    mixed,
    no_truth_in,
)
from lpirc_testsets.ground_truth import GroundTruth
from lpirc_testsets.parquet_tables import is_parquet
from lpirc_testsets.presence import is_file, is_folder, is_there
from lpirc_testsets.truth_marks import NO_TRUTH_SENTENCE, read_marks
from lpirc_testsets.values import shown
from lpirc_testsets.voc_reader import read_voc_folder, voc_files
from lpirc_testsets.yolo_layout import (
    LABELS,
    READ_AS_YOLO,
    has_pictures,
    is_label_text,
    is_row_of_detections,
    pictures_by_name,
)
from lpirc_testsets.yolo_names import YAML


def read_ground_truth(path: Name, images: Name | None = None) -> GroundTruth:
    """Read the ground truth of a folder (a test set, VOC annotations, YOLO texts) or a file (COCO JSON, CSV, Parquet).

    CSV has the header `image,class,xmin,ymin,xmax,ymax[,difficult]` and numbers below it; Parquet has these columns. A
    file is read as JSON if its name ends in .json or its content starts with a brace or bracket. A folder is what its
    manifest.json, XML or text files say; one with several kinds is refused.

    `images` is a CSV with the column `image` (and optionally `name`) that lists *every* image of the set: it adds
    images without objects, and it must contain every image of the ground truth. Only CSV and Parquet need it. Or it is
    the folder of the images, which adds their sizes, and which YOLO's texts need unless it lies beside them.

    Raises TestSetError with every problem found, at most 20, in `problems`: `ground-truth-missing`,
    `ground-truth-unreadable` (not accessible, neither JSON nor text, or other columns), `ground-truth-invalid`
    (values), `ground-truth-mixed` (a folder with several kinds), `no-pyarrow`, and those of `load_test_set`. For a
    folder with ground truth of another kind it is `ground-truth-invalid`, for one without ground truth `no-truth`.
    `testset-damaged` is also raised for a folder whose ground truth does not match the manifest.
    """
    path = path_of(path)
    images = None if images is None else path_of(images)
    try:
        ground_truth = _read(path, images)
    except OSError as error:
        raise TestSetError(
            "ground-truth-unreadable", f"{error.filename or path}: {error.strerror}"
        ) from error
    if images is None:
        return ground_truth
    if is_folder(images):
        return _with_sizes(ground_truth, path, images)
    return _with_images(ground_truth, path, images)


def objects_of(test_set: TestSet) -> GroundTruth:
    """Return the objects of a set: none without ground truth. Raises TestSetError as `read_ground_truth` does."""
    if test_set.objects or test_set.has_labels:
        return read_ground_truth(test_set.folder)
    return GroundTruth.of_corners(
        {one.number: one.file for one in test_set.images},
        {one.id: one.name for one in test_set.categories},
        (),
    )


def declares_ids(path: Path) -> bool:
    """Return True if this ground truth lists its images and categories, as folders and COCO JSON do, but not tables."""
    return is_folder(path) or _looks_like_json(path)


def _read(path: Path, images: Path | None) -> GroundTruth:
    if is_folder(path):
        if is_bundle(path):
            raise TestSetError("ground-truth-unreadable", f"{path}: {IS_BUNDLE}")
        if is_there(path / MANIFEST):
            return _of_set(load_test_set(path))
        return _of_folder(path, images)
    if is_parquet(path):
        return csv_reader.read_table(path)
    if path.suffix.lower() in YAML:
        sentence = (
            f"{path}: it names classes; the ground truth is the folder of YOLO's texts, "
            f"such as {LABELS}/val beside it"
        )
        raise TestSetError("ground-truth-unreadable", sentence)
    if path.suffix.lower() == ".xml" and is_file(path):
        sentence = (
            f"{path}: it is one annotation of VOC; name its folder, {path.parent}"
        )
        raise TestSetError("ground-truth-unreadable", sentence)
    if _looks_like_json(path):
        return coco_reader.read_coco(path)
    if is_file(path) and path.stat().st_size and is_label_text(path):
        sentence = (
            f"{path}: its lines are like YOLO's, which are read with the names of the classes and the images: "
            "name their folder"
        )
        if is_row_of_detections(path):
            sentence = (
                f"{path}: its lines are seven numbers with corners in pixels, as those of detections are: "
                "is it given in place of the ground truth?"
            )
        raise TestSetError("ground-truth-unreadable", sentence)
    return csv_reader.read_csv(path)


def _of_folder(path: Path, images: Path | None) -> GroundTruth:
    kinds = kinds_in(path)
    if len(kinds) > 1 and not is_run_export(path):
        raise TestSetError("ground-truth-mixed", mixed(path, kinds))
    if XML in kinds:
        return read_voc_folder(voc_files(path))
    if TEXT in kinds:
        return _of_yolo(path, images)
    try:
        return _of_set(load_test_set(path))
    except TestSetError as error:
        is_told = is_file(path / CONTEST) or set_above(path) is not None
        if error.code != "testset-not-a-testset" or is_told:
            raise
        hint = "there are no annotations (XML) and no YOLO texts in it either"
        if kinds or is_run_export(path):
            hint = no_truth_in(path, kinds)
        elif has_pictures(path):
            hint = "it holds images: name the folder of their annotations"
        raise TestSetError(error.code, f"{error.sentence}; {hint}") from error


def _of_yolo(path: Path, images: Path | None) -> GroundTruth:
    # Imported here, so that only readers of images wait for Pillow.
    from lpirc_testsets.yolo_reader import read_yolo_folder

    listed_in = images is not None and not is_folder(images)
    try:
        return read_yolo_folder(path, None if listed_in else images)
    except TestSetError as error:
        why = f"the folder is {READ_AS_YOLO}, no manifest.json and no XML"
        sentence = f"{error.sentence} ({why})"
        raise TestSetError(error.code, sentence, error.problems) from error


def _of_set(test_set: TestSet) -> GroundTruth:
    path = test_set.ground_truth_path
    if not is_file(path):
        raise TestSetError("testset-damaged", f"{path}: no such file")
    content = file_bytes(path)
    if hashlib.sha256(content).hexdigest() != test_set.ground_truth_sha256:
        raise TestSetError(
            "testset-damaged", f"{path}: changed since the manifest was written"
        )
    folder = test_set.folder
    if test_set.has_labels:
        raise TestSetError(
            "ground-truth-invalid",
            f"{folder}: a set for classification has labels and no boxes",
        )
    if not test_set.objects:
        raise TestSetError("no-truth", f"{folder}: {NO_TRUTH_SENTENCE}")
    if b'"bbox"' not in content:
        has = read_marks(test_set).has
        raise TestSetError(
            "ground-truth-invalid", f"{folder}: the set has {has} and no boxes"
        )
    return coco_reader.read_coco(path, content)


def _looks_like_json(path: Path) -> bool:
    if path.suffix.lower() == ".json" or not is_file(path):
        return path.suffix.lower() == ".json"
    with path.open("rb") as file:
        return file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in (b"{", b"[")


def _with_sizes(
    ground_truth: GroundTruth,
    path: Path,
    images: Path,
) -> GroundTruth:
    """Add the sizes of the images that are in a folder under their names."""
    from lpirc_testsets.photographs import size_in_header

    names = ground_truth.image_names
    if not any(names):
        sentence = (
            f"{images} is a folder, but {path} does not name its images; "
            "a list of them is a CSV with the header image"
        )
        raise TestSetError("ground-truth-invalid", sentence)
    sizes = dict(ground_truth.sizes)
    pictures = pictures_by_name(images)
    named = zip(ground_truth.image_ids.tolist(), names, strict=True)
    missing = {id_: name for id_, name in named if name and id_ not in sizes}
    for id_, name in missing.items():
        picture = pictures.get(name) or pictures.get(name.casefold())
        if picture and (size := size_in_header(picture)):
            sizes[id_] = size
    if missing and not sizes:
        first = shown(next(iter(missing.values())))
        sentence = f"{images}: none of the {len(missing)} images of {path} is in it; the first is {first}"
        raise TestSetError("ground-truth-missing", sentence)
    if not pictures:
        sentence = f"{images}: no image is in it or its subfolders; name the folder that has them"
        raise TestSetError("ground-truth-missing", sentence)
    return replace(ground_truth, sizes=sizes)


def _with_images(
    ground_truth: GroundTruth,
    path: Path,
    images: Path,
) -> GroundTruth:
    listed = csv_reader.read_image_list(images)
    problems = Problems()
    names = dict(
        zip(ground_truth.image_ids.tolist(), ground_truth.image_names, strict=True)
    )
    unlisted = sorted(names.keys() - listed.keys())
    problems.add(
        *(f"{images}: image {image} of {path} is not in the list" for image in unlisted)
    )
    problems.raise_if_any("ground-truth-invalid")
    merged = {image: names.get(image) or name for image, name in listed.items()}
    return replace(
        ground_truth,
        image_ids=np.array(list(merged), dtype=np.int64),
        image_names=tuple(merged.values()),
    )
