"""A test-set format: boxes by their centres, a text file for each image `ID.jpg`.

A line of `ID.txt` is CLASS X Y WIDTH HEIGHT: the class counts from 0, and the centre and the
size of the box are shares of the image's width and height.
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from lpirc_testsets import Category, Problems, Reports, TestSet
from lpirc_testsets.formats import FileOption, Format
from lpirc_testsets.ground_truth import NamedBox
from lpirc_testsets.set_building import SourceImage, build_annotated


def import_centres(
    annotations: Path,
    classes: Path,
    images: Path,
    out: Path,
    reports: Reports,
) -> TestSet:
    """Import the folder `annotations`; `classes` has a name a line, in the order of their numbers."""
    names = classes.read_text("utf-8").splitlines()
    categories = {
        name: Category(number, name) for number, name in enumerate(names, start=1)
    }
    annotated = []
    for labels in sorted(annotations.glob("*.txt")):
        file = f"{labels.stem}.jpg"
        with Image.open(images / file) as picture:
            size = picture.size
        source = SourceImage(images / file, file, size, labels.stem, origin=labels)
        annotated.append((source, _boxes(labels, names, size, reports.problems)))
    return build_annotated(out, annotated, categories, annotations, reports)


def _boxes(
    labels: Path,
    names: list[str],
    size: tuple[int, int],
    problems: Problems,
) -> list[NamedBox]:
    width, height = size
    boxes = []
    for number, line in enumerate(labels.read_text("ascii").splitlines(), start=1):
        try:
            which, *shares = line.split()
            x, y, w, h = map(float, shares)
            name = names[int(which)]
        except (ValueError, IndexError):
            wrong = f"{labels}: line {number}: {line!r} is not CLASS X Y WIDTH HEIGHT"
            problems.add(wrong)
            continue
        left = (x - w / 2) * width
        top = (y - h / 2) * height
        right = left + w * width - 1  # corners are inclusive pixels
        bottom = top + h * height - 1
        boxes.append(NamedBox(name, (left, top, right, bottom)))
    return boxes


FORMAT = Format(
    import_centres,
    "Import boxes by their centres: a text file for each image.",
    (
        FileOption("annotations", "The folder of text files."),
        FileOption("classes", "One name a line, in the order of their numbers."),
    ),
)
