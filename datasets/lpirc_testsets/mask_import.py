"""Imports images for semantic segmentation: a folder of label maps as PNG, and a CSV with the header `number,name`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from lpirc_testsets.csv_reader import csv_lines
from lpirc_testsets.errors import Problems, Reports, TestSetError
from lpirc_testsets.file_bytes import file_bytes, read_text
from lpirc_testsets.folder import TestSet
from lpirc_testsets.formats import FileOption, Format, NumbersOption
from lpirc_testsets.mask_reader import Labels, read_mask
from lpirc_testsets.photographs import images_in, left_out, size_in_header
from lpirc_testsets.presence import files_below
from lpirc_testsets.run_lengths import encode
from lpirc_testsets.set_building import (
    Categories,
    SourceImage,
    build_test_set,
    numbered,
    require_folder,
)
from lpirc_testsets.task_truth import LARGEST_LABEL
from lpirc_testsets.values import integer
from lpirc_testsets.writing import RegionRecord

COLUMNS = ("number", "name")
SUFFIX = ".png"
MAKE_AGAIN = (
    "make the label map again; or add the class, or name the number with --void"
)


@dataclass(frozen=True)
class Pairs:
    """Images with their label maps, by name without extension, and the images and maps without the other."""

    images: dict[str, str]
    masks: dict[str, Path]

    def names(self, listed: Path | None, problems: Problems) -> list[str]:
        """Return the names that belong to the set, sorted, or those of the file `listed` in its order."""
        if listed is None:
            for name in sorted(self.masks.keys() - self.images.keys()):
                problems.add(f"{self.masks[name]}: there is no JPEG image {name}")
            return sorted(self.masks.keys() & self.images.keys())
        names = [line.strip() for line in read_text(listed).splitlines()]
        wanted = [name for name in dict.fromkeys(names) if name]
        if not wanted:
            problems.add(f"{listed}: no names in it")
        for name in wanted:
            if name not in self.images:
                problems.add(f"{listed}: there is no JPEG image {name}")
            if name not in self.masks:
                problems.add(f"{listed}: image {name} has no label map {name}{SUFFIX}")
        return [name for name in wanted if name in self.images and name in self.masks]


def import_masks(
    masks: Path,
    classes: Path,
    images: Path,
    out: Path,
    void: Sequence[int] = (),
    listed: Path | None = None,
    reports: Reports | None = None,
) -> TestSet:
    """Import the label maps below the folder `masks` and the images of the same names into the new folder `out`.

    The set has the images with a label map, by ascending name, or those of the file `listed`, a name without extension
    a line. `classes` is a CSV with the header `number,name`. Pixels with one of the numbers `void` do not count.

    Raises TestSetError: `import-missing`, `import-invalid` with all problems found (20 at most), `testset-exists`,
    `testset-not-written`, and `ground-truth-missing` or `ground-truth-unreadable` for the CSV and the list.
    """
    reports = reports or Reports()
    problems = reports.problems
    require_folder(masks)
    named = _classes(classes, void, problems)
    found = images_in(images)
    pairs = Pairs(_by_stem(found.images, images, problems), _masks(masks, problems))
    names = pairs.names(listed, problems)
    if not names and not problems.count:
        problems.add(
            f"{masks}: no label map {SUFFIX} with the name of an image",
            remedy="name the folder of label maps with --masks",
        )
    numbers = {category.id for category in named.values()}
    sources = []
    records: list[RegionRecord] = []
    for place, name in enumerate(names, start=1):
        path = images / pairs.images[name]
        size = size_in_header(path)
        sources.append(
            SourceImage(
                path,
                pairs.images[name],
                size,
                name,
                origin=pairs.masks[name],
            )
        )
        if size is None:
            continue  # its copy says why
        try:
            records += _regions(place, pairs.masks[name], size, numbers, {*void})
        except ValueError as error:
            problems.add(f"{pairs.masks[name]}: {error}", remedy=MAKE_AGAIN)
        reports.progress(place, len(names))
    made = build_test_set(
        out,
        sources,
        sorted(named.values(), key=lambda one: one.id),
        records,
        reports,
    )
    unused = [file for stem, file in pairs.images.items() if stem not in set(names)]
    why = "the list does not name them" if listed else "they have no label map"
    reports.notes.extend(left_out(images, sorted(unused), why))
    return made


FORMAT = Format(
    import_masks,
    "Import label maps as PNG, for segmentation; images without one are left out.",
    (
        FileOption("masks", "Folder of the PNG files, named like the images."),
        FileOption(
            "classes",
            "CSV file with the header `number,name`: the numbers in the label maps.",
        ),
        NumbersOption(
            "void",
            "Numbers of pixels that do not count, such as 255.",
            required=False,
        ),
        FileOption(
            "list",
            "File with the names of the images, without extension, one a line; default: all that have a label map.",
            required=False,
            parameter="listed",
        ),
    ),
)


def _classes(path: Path, void: Sequence[int], problems: Problems) -> Categories:
    rows = []
    for line, (cell, name) in csv_lines(path, (COLUMNS,)):
        try:
            number = integer(cell.strip(), "number")
        except ValueError as error:
            problems.add(f"{path}: line {line}: {error}")
            continue
        if not 0 <= number <= LARGEST_LABEL:
            problems.add(
                f"{path}: line {line}: number {number} is not from 0 to {LARGEST_LABEL}"
            )
        if number in void:
            problems.add(f"{path}: line {line}: number {number} is void, too")
        rows.append((name.strip(), number, name.strip()))
    return numbered(rows, path, problems)


def _by_stem(
    files: Sequence[str],
    folder: Path,
    problems: Problems,
) -> dict[str, str]:
    """Return the files by their names without extension, subfolders included."""
    found: dict[str, str] = {}
    for file in files:
        name = str(PurePosixPath(file).with_suffix(""))
        if name in found:
            problems.add(f"{folder}: {found[name]} and {file} have the same name")
        found[name] = file
    return found


def _masks(folder: Path, problems: Problems) -> dict[str, Path]:
    try:
        paths = files_below(folder)
    except OSError as error:
        raise TestSetError(
            "import-missing", f"{error.filename}: {error.strerror}"
        ) from error
    files = [
        path.relative_to(folder).as_posix()
        for path in paths
        if path.suffix.lower() == SUFFIX and not path.name.startswith(".")
    ]
    return {
        name: folder / file for name, file in _by_stem(files, folder, problems).items()
    }


def _regions(
    number: int,
    path: Path,
    size: tuple[int, int],
    numbers: set[int],
    void: set[int],
) -> list[RegionRecord]:
    try:
        labels = read_mask(file_bytes(path), size)
    except OSError as error:
        raise ValueError(str(error.strerror)) from error
    values, counts = np.unique(labels, return_counts=True)
    areas = dict(zip(values.tolist(), counts.tolist(), strict=True))
    unknown = areas.keys() - numbers - void
    if unknown:
        raise ValueError(_where(labels, min(unknown), len(unknown) - 1))
    return [
        RegionRecord(
            number,
            value,
            encode(labels == value),
            areas[value],
            size,
        )
        for value in sorted(areas.keys() - void)
    ]


def _where(labels: Labels, value: int, others: int) -> str:
    rows, columns = np.nonzero(labels == value)
    more = f" (and {others} other numbers)" if others else ""
    return (
        f"label {value}{more} is neither a class nor void: {len(rows)} pixels, "
        f"the first at x {columns[0]}, y {rows[0]}"
    )
