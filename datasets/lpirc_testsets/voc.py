"""Imports a data set annotated in VOC's form: a folder of XML files and a folder of images."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from lpirc_testsets.boxes import coco_from_corners
from lpirc_testsets.errors import Problems, TestSetError
from lpirc_testsets.file_bytes import read_text
from lpirc_testsets.folder import Category, TestSet
from lpirc_testsets.importing import SourceImage, build_test_set, require_folder
from lpirc_testsets.values import shown
from lpirc_testsets.voc_reader import VocAnnotation, read_voc
from lpirc_testsets.writing import ObjectRecord

EXTENSIONS = ("", ".jpg", ".JPG", ".jpeg", ".JPEG")

Annotated = tuple[SourceImage, VocAnnotation]


def import_voc(annotations: Path, images: Path, out: Path, categories: Path | None = None) -> TestSet:
    """Import a folder of VOC annotations and their images into the new folder `out`.

    The annotations, in subfolders too, define the set: images without one are left out, images whose annotation names
    no object belong to it. Images are numbered by ascending file name. `categories` is a file with one name per line,
    numbered from 1; without it the names that occur are sorted and numbered from 1.

    Raises TestSetError: `import-missing` (no such folders), `import-invalid` with all problems found (20 at
    most), `testset-exists`, `testset-not-written`.
    """
    require_folder(annotations)
    require_folder(images)
    problems = Problems()
    annotated = sorted(_read_all(annotations, images, problems), key=lambda each: each[0].file)
    occurring = sorted({item.name for _, annotation in annotated for item in annotation.objects})
    names = occurring if categories is None else _listed(categories, problems)
    ids = {name: id_ for id_, name in enumerate(names, start=1)}
    objects = list(_objects(annotated, ids, problems))
    if not objects and not problems.count:
        problems.add(f"{annotations}: no objects in any annotation")
    sources = [source for source, _ in annotated]
    return build_test_set(out, sources, [Category(id_, name) for name, id_ in ids.items()], objects, problems)


def _read_all(annotations: Path, images: Path, problems: Problems) -> Iterator[Annotated]:
    found = sorted(path for path in annotations.rglob("*") if path.suffix.lower() == ".xml")
    if not found:
        problems.add(f"{annotations}: no XML files in it")
    for path in found:
        try:
            annotation = read_voc(path)
        except ValueError as error:
            problems.add(str(error))
            continue
        problems.add(*annotation.problems)
        name = path.relative_to(annotations)
        file = _image_file(images, name, annotation.file)
        source_id = name.with_suffix("").as_posix()
        yield SourceImage(images / file, file, annotation.size, source_id, origin=path), annotation


def _image_file(images: Path, annotation: Path, stated: str) -> str:
    """Find the image of an annotation: the stated name, else the annotation's own, in its subfolder or at the top.

    Return the stated name if there is no such image, for the copy to fail on.
    """
    plain = annotation.with_suffix("").name
    for stem in filter(None, (stated, plain)):
        for folder in dict.fromkeys((Path(), annotation.parent)):
            for extension in EXTENSIONS:
                candidate = folder / (stem + extension)
                if os.path.isfile(images / candidate):  # noqa: PTH113 - also for a name that no file can have
                    return candidate.as_posix()
    return stated or plain


def _listed(path: Path, problems: Problems) -> list[str]:
    try:
        names = [line.strip() for line in read_text(path).splitlines() if line.strip()]
    except TestSetError as error:
        problems.add(error.sentence)
        return []
    if not names:
        problems.add(f"{path}: no categories in it")
    for name in (name for name, uses in Counter(names).items() if uses > 1):
        problems.add(f"{path}: category {shown(name)} is listed more than once")
    return list(dict.fromkeys(names))


def _objects(
    annotated: Sequence[Annotated], ids: dict[str, int], problems: Problems
) -> Iterator[ObjectRecord]:
    for number, (source, annotation) in enumerate(annotated, start=1):
        for item in annotation.objects:
            if item.name not in ids:
                problems.add(f"{source.origin}: {shown(item.name)} is not among the categories")
                continue
            x, y, width, height = coco_from_corners(np.array([item.corners])).tolist()[0]
            area = width * height
            yield ObjectRecord(number, ids[item.name], (x, y, width, height), area, difficult=item.difficult)
