"""Imports images for on-site classification: folders named by class, or a CSV with the header `file,class`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from lpirc_testsets.csv_reader import csv_lines
from lpirc_testsets.errors import Problems, Reports, TestSetError
from lpirc_testsets.folder import Category, TestSet, contained, is_test_set
from lpirc_testsets.formats import FileOption, Format
from lpirc_testsets.name_list import read_names
from lpirc_testsets.photographs import images_in, left_out
from lpirc_testsets.set_building import SourceImage, build_test_set, require_folder
from lpirc_testsets.truth_marks import new_nonce
from lpirc_testsets.values import LARGEST_ID, is_name, shown
from lpirc_testsets.writing import ClassRecord

COLUMNS = ("file", "class")
Lines = dict[str, int]
"""The line of the CSV that names a file."""
Classes = dict[str, str]
"""The name of the class of each file, relative to the folder of images."""


def import_classes(
    images: Path,
    out: Path,
    table: Path | None = None,
    classes: Path | None = None,
    reports: Reports | None = None,
) -> TestSet:
    """Import images with one class each into the new folder `out`, by ascending file name.

    Without `table`, a CSV, the class of an image is the folder in `images` that it lies in, or one of that folder's
    subfolders. `classes` is a file with the names of the classes, one a line, numbered from 1. Without it they are the
    names that occur, also of folders without images: numbers if all are whole numbers, else sorted and numbered from 1.

    Raises TestSetError: `import-missing`, `import-invalid` with all problems found (20 at most), `testset-exists`,
    `testset-not-written`, and `ground-truth-missing` or `ground-truth-unreadable` for the CSV and the file of names.
    """
    reports = reports or Reports()
    problems = reports.problems
    require_folder(images)
    if table is None and is_test_set(images):
        sentence = f"{images} is a test set; name the folder of images, with a folder for each class in it"
        raise TestSetError("import-invalid", sentence)
    notes = []
    lines: Lines = {}
    if table is not None:
        of_files, lines = _listed(table, problems)
        names = set(of_files.values())
    else:
        found = images_in(images)
        of_files = _by_folder(images, found.images, problems)
        names = {*of_files.values(), *_folders(images)}
        notes = left_out(images, found.others, "they are not JPEG")
    if classes is not None:
        listed = read_names(classes, problems)
        numbers = {name: number for number, name in enumerate(listed, start=1)}
        _refuse_unlisted(of_files, numbers, table or images, classes, problems)
    else:
        numbers = numbers_of(names)
    files = sorted(of_files)
    made = build_test_set(
        out,
        [
            SourceImage(
                images / file,
                file,
                None,
                file,
                origin=table or images,
                line=lines.get(file),
            )
            for file in files
        ],
        sorted((Category(id_, name) for name, id_ in numbers.items()), key=_id),
        [
            ClassRecord(number, numbers.get(of_files[file], 0))
            for number, file in enumerate(files, start=1)
        ],
        reports,
        info=new_nonce(),
    )
    reports.notes.extend(notes)
    return made


FORMAT = Format(
    import_classes,
    "Import classes, by folder or CSV, for classification on site.",
    (
        FileOption(
            "csv",
            "CSV file with the header `file,class`; without it the folders in --images are the classes.",
            required=False,
            parameter="table",
        ),
        FileOption(
            "classes",
            "File with one class name per line, numbered from 1; default: all names that occur, sorted.",
            required=False,
        ),
    ),
)


def numbers_of(names: set[str]) -> dict[str, int]:
    """Return the number of each class: the name itself if all are whole numbers, else its rank, from 1."""
    if all(_is_plain_number(name) for name in names):
        return {name: int(name) for name in names}
    return {name: number for number, name in enumerate(sorted(names), start=1)}


def _is_plain_number(name: str) -> bool:
    is_number = name.isascii() and name.isdigit() and len(name) <= len(str(LARGEST_ID))
    return is_number and str(int(name)) == name


def _id(category: Category) -> int:
    return category.id


def _by_folder(images: Path, files: Sequence[str], problems: Problems) -> Classes:
    found = {}
    for file in files:
        name, is_below, _ = file.partition("/")
        if not is_below:
            problems.add(
                f"{images}: image {file} lies in no folder of a class",
                remedy="put it into the folder of its class",
            )
        found[file] = name
    return found


def _folders(images: Path) -> list[str]:
    try:
        with os.scandir(images) as entries:
            names = [entry.name for entry in entries if entry.is_dir()]
    except OSError as error:
        raise TestSetError("import-missing", f"{images}: {error.strerror}") from error
    return [name for name in names if not name.startswith(".")]


def _listed(table: Path, problems: Problems) -> tuple[Classes, Lines]:
    found: Classes = {}
    lines_of: Lines = {}
    lines = csv_lines(table, (COLUMNS,))
    if not lines:
        problems.add(f"{table}: no classes below the header")
    for line, (cell, name) in lines:
        try:
            file = contained(cell.strip())
        except ValueError as error:
            problems.add(f"{table}: line {line}: {error}")
            continue
        if file in found:
            problems.add(f"{table}: line {line}: {file} is listed more than once")
        found[file] = name.strip()
        lines_of[file] = line
        if not is_name(found[file]):
            problems.add(f"{table}: line {line}: {shown(name)} is not a name")
    return found, lines_of


def _refuse_unlisted(
    of_files: Classes,
    numbers: dict[str, int],
    origin: Path,
    classes: Path,
    problems: Problems,
) -> None:
    for file, name in sorted(of_files.items()):
        if name not in numbers:
            problems.add(f"{origin}: {file} has class {shown(name)}, not in {classes}")
