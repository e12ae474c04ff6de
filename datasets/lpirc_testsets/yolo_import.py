"""Imports a data set with YOLO's text files: folders `images` and `labels`, and the names of the classes."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from lpirc_testsets.errors import Problems, Reports
from lpirc_testsets.folder import Category, TestSet
from lpirc_testsets.formats import FileOption, Format
from lpirc_testsets.photographs import (
    Found,
    images_in,
    left_out,
    orientation,
    size_in_header,
)
from lpirc_testsets.presence import files_below, is_file
from lpirc_testsets.set_building import SourceImage, build_test_set, require_folder
from lpirc_testsets.writing import ObjectRecord
from lpirc_testsets.yolo_labels import read_labels_of
from lpirc_testsets.yolo_layout import IMAGES, LABELS, PICTURES
from lpirc_testsets.yolo_names import read_classes

TURN = "save the image upright without that note, and look whether its labels fit"


def import_yolo(
    classes: Path,
    images: Path,
    out: Path,
    labels: Path | None = None,
    reports: Reports | None = None,
) -> TestSet:
    """Import the JPEG images below the folder `images`, by ascending name, with their text files.

    The text file of an image has its name and the extension .txt. It lies below `labels` as the image does below
    `images`; without `labels`, in the folder whose path has `labels` in place of the last `images`, or beside the
    image if there is none. An image without a text file has no objects. `classes` is a data.yaml or a file with a name
    a line; class 0 becomes category 1.

    Raises TestSetError: `import-missing`, `import-invalid` with all problems found (20 at most), `testset-exists`,
    `testset-not-written`, and those of the file of classes.
    """
    reports = reports or Reports()
    problems = reports.problems
    if labels is not None:
        require_folder(labels)
    names = read_classes(classes, problems)
    numbers = {number: number + 1 for number in names}
    found = images_in(images)
    texts = {file: _text_of(file, images, labels) for file in found.images}
    sources = []
    records: list[ObjectRecord] = []
    for place, (file, text) in enumerate(texts.items(), start=1):
        path = images / file
        size = size_in_header(path)
        sources.append(
            SourceImage(
                path,
                file,
                size,
                file,
                origin=text,
            )
        )
        if size is None or not is_file(text):
            continue  # without a size its copy says why
        _refuse_turned(path, problems)
        records += read_labels_of(text, place, size, numbers, classes, problems)
    _require_objects(records, texts, problems)
    categories = [Category(numbers[one], name) for one, name in names.items()]
    made = build_test_set(
        out,
        sources,
        sorted(categories, key=lambda one: one.id),
        records,
        reports,
    )
    reports.notes.extend(_notes(found, texts, labels))
    return made


FORMAT = Format(
    import_yolo,
    "Import YOLO's text files; an image without one has no objects.",
    (
        FileOption("classes", "data.yaml, or a file with one class name per line."),
        FileOption(
            "labels",
            "Folder of the text files; default: the path of each image, with labels in place of images.",
            required=False,
        ),
    ),
)


def _text_of(file: str, images: Path, labels: Path | None) -> Path:
    name = PurePosixPath(file).with_suffix(".txt")
    if labels is not None:
        return labels / name
    path = images.absolute() / name
    parts = list(path.parts)
    places = [place for place, part in enumerate(parts[:-1]) if part == IMAGES]
    if not places:
        return images / name
    parts[places[-1]] = LABELS
    return Path(*parts)


def _refuse_turned(path: Path, problems: Problems) -> None:
    turned = orientation(path)
    if turned is not None:
        problems.add(
            f"{path}: its EXIF data say that it is shown turned (orientation {turned}), so the axes of its labels "
            "are not known",
            remedy=TURN,
        )


def _require_objects(
    records: list[ObjectRecord],
    texts: dict[str, Path],
    problems: Problems,
) -> None:
    if records or problems.count:
        return
    if any(map(is_file, texts.values())):
        problems.add("no objects in any of the text files")
        return
    file, text = next(iter(texts.items()))
    problems.add(
        f"none of {len(texts)} images has a text file: that of {file} would be {text}",
        remedy="name the folder of text files with --labels",
    )


def _notes(
    found: Found,
    texts: dict[str, Path],
    labels: Path | None,
) -> list[str]:
    pictures = [
        file for file in found.others if PurePosixPath(file).suffix.lower() in PICTURES
    ]
    notes = left_out(found.folder, pictures, "they are not JPEG")
    folders = {text.parent for text in texts.values()} if labels is None else {labels}
    known = {*texts.values()}
    unused = [
        str(path)
        for folder in sorted(folders)
        if folder.is_dir()
        for path in files_below(folder)
        if path.suffix == ".txt" and path not in known and path.name != "classes.txt"
    ]
    without = sum(not is_file(text) for text in texts.values())
    if without:
        notes.append(
            f"{without} of {len(texts)} images have no text file, so no objects."
        )
    return notes + left_out(found.folder, unused, "there is no JPEG image for them")
