"""Imports ILSVRC DET as it is published: annotations in VOC's form, with the lists of the development kit.

Its readme.txt has the forms: `map_det.txt` "WNID NUMBER NAME", lists of images "ID NUMBER" (val, test) or "ID 1|0|-1"
(training, of one category: all of its objects have boxes, not all have, there are none), the blacklist "NUMBER WNID".
"""

from __future__ import annotations

from pathlib import Path

from lpirc_testsets.errors import Problems, Reports
from lpirc_testsets.file_bytes import read_text
from lpirc_testsets.folder import TestSet, contained
from lpirc_testsets.importing import numbered
from lpirc_testsets.values import integer, shown
from lpirc_testsets.voc import import_annotations

PARTLY_ANNOTATED = 0


def import_ilsvrc(
    annotations: Path,
    images: Path,
    out: Path,
    synsets: Path,
    image_list: Path | None = None,
    blacklist: Path | None = None,
    reports: Reports | None = None,
) -> TestSet:
    """Import ILSVRC DET with the numbers and names of the file `synsets`.

    `image_list` names the images and their order; those whose objects are not all annotated are left out, and those
    that `blacklist` names by their id, or by their number in the list. Raises TestSetError as `import_voc` does, and
    `ground-truth-missing` or `ground-truth-unreadable` for the lists.
    """
    reports = reports or Reports()
    problems = reports.problems
    rows = []
    for line, words in _lines(synsets, 2):
        try:
            wnid, number, name = words
            rows.append((wnid, integer(number, "number"), name))
        except ValueError:
            wrong = f"{synsets}: line {line}: {shown(' '.join(words))} is not WNID NUMBER NAME"
            problems.add(wrong, remedy="write it as in: n02672831 1 accordion")
    named = numbered(rows, synsets, problems)
    listed = None if image_list is None else _listed(image_list, problems)
    if listed is not None and blacklist is not None:
        banned = _blacklisted(blacklist, listed, problems)
        listed = {id_: number for id_, number in listed.items() if id_ not in banned}
    return import_annotations(
        annotations,
        images,
        out,
        named,
        None if listed is None else list(listed),
        reports,
    )


def _listed(path: Path, problems: Problems) -> dict[str, str]:
    """The images of a list and their numbers, as written."""
    found: dict[str, str] = {}
    for line, (name, *numbers) in _lines(path, 1):
        try:
            id_ = contained(name.removesuffix(".JPEG"))
            number = integer(numbers[0], "number") if numbers else None
            if id_ in found:
                problems.add(
                    f"{path}: line {line}: the image {shown(id_)} is listed more than once"
                )
            if number != PARTLY_ANNOTATED:
                found[id_] = str(number)
        except ValueError as error:
            problems.add(f"{path}: line {line}: {error}")
    if not found:
        problems.add(f"{path}: no images in it")
    return found


def _blacklisted(path: Path, listed: dict[str, str], problems: Problems) -> set[str]:
    """The listed images that a blacklist names; that of a training list has 1 for all, which is not a number."""
    ids = {number: id_ for id_, number in listed.items()}
    found: set[str] = set()
    for line, (word, *_) in _lines(path, 1):
        id_ = ids.get(word, word) if len(ids) == len(listed) else word
        if id_ not in listed:
            problems.add(
                f"{path}: line {line}: {shown(word)} is neither an image of --list nor its number"
            )
        found.add(id_)
    return found


def _lines(path: Path, splits: int) -> list[tuple[int, list[str]]]:
    """Line numbers and words of the lines that are not blank; the last word is the rest of the line."""
    lines = enumerate(read_text(path).splitlines(), start=1)
    return [
        (number, line.split(maxsplit=splits)) for number, line in lines if line.strip()
    ]
