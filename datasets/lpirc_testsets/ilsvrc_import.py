"""Imports ILSVRC DET as published: annotations in VOC format, with the lists of the development kit.

The formats are described in its readme.txt: `map_det.txt` has lines "WNID NUMBER NAME"; image lists have "ID NUMBER"
(val, test) or "ID 1|0|-1" (training, for one category: all objects have boxes, only some have, there are none); the
blacklist has "NUMBER WNID".
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lpirc_testsets.errors import Problems, Reports
from lpirc_testsets.file_bytes import read_text
from lpirc_testsets.folder import TestSet, contained
from lpirc_testsets.formats import FileOption, Format, OptionsConflict
from lpirc_testsets.set_building import numbered
from lpirc_testsets.values import integer, shown
from lpirc_testsets.voc_import import import_annotations, import_voc

PARTLY_ANNOTATED = 0
NEEDS = "--blacklist needs --list, and --list needs --synsets."


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

    `image_list` names the images and their order. Images whose objects are not all annotated are left out, and so are
    those that `blacklist` names by id or by number in the list. Raises TestSetError as `import_voc` does, and
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


def import_by_synsets_or_names(
    categories: Path | None = None,
    synsets: Path | None = None,
    image_list: Path | None = None,
    blacklist: Path | None = None,
    **given: Any,
) -> TestSet:
    """Import as `import_ilsvrc` does or, with a list of `categories`, as `import_voc`.

    Raises OptionsConflict, and the errors of both functions.
    """
    if (categories is None) == (synsets is None):
        raise OptionsConflict("Give --synsets or --categories.")
    if blacklist is not None and image_list is None:
        raise OptionsConflict(NEEDS)
    if synsets is None:
        if image_list is not None:
            raise OptionsConflict(NEEDS)
        return import_voc(categories=categories, **given)
    return import_ilsvrc(
        synsets=synsets, image_list=image_list, blacklist=blacklist, **given
    )


FORMAT = Format(
    import_by_synsets_or_names,
    """Import ILSVRC DET; without --list, images that have no annotation are left out.

    Example: referee testset import ilsvrc --annotations Annotations/DET/val
    --images Data/DET/val --synsets map_det.txt --list ImageSets/DET/val.txt
    --blacklist ILSVRC2015_det_validation_blacklist.txt --out sets/det
    """,
    (
        FileOption("annotations", "Folder of the XML files."),
        FileOption(
            "synsets", "The kit's map_det.txt: lines WNID NUMBER NAME.", required=False
        ),
        FileOption(
            "list",
            "The images, in order: lines ID or ID NUMBER.",
            required=False,
            parameter="image_list",
        ),
        FileOption(
            "blacklist",
            "File of the images to leave out: each line is an image's number (as in --list) or its ID.",
            required=False,
        ),
        FileOption(
            "categories",
            "File that replaces --synsets: one WordNet id per line, numbered from 1.",
            required=False,
        ),
    ),
)


def _listed(path: Path, problems: Problems) -> dict[str, str]:
    """Return the numbers of the listed images, as text, by image id."""
    found: dict[str, str] = {}
    for line, (name, *numbers) in _lines(path, 1):
        try:
            id_ = contained(name.removesuffix(".JPEG"))
            number = None
            if numbers:
                number = integer(numbers[0], "number")
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


def _blacklisted(
    path: Path,
    listed: dict[str, str],
    problems: Problems,
) -> set[str]:
    """Return the ids of the images that a blacklist names.

    Numbers are used only if those in the list are unique: a training list has 1 for every image.
    """
    ids = {number: id_ for id_, number in listed.items()}
    found: set[str] = set()
    for line, (word, *_) in _lines(path, 1):
        id_ = word
        if len(ids) == len(listed):
            id_ = ids.get(word, word)
        if id_ not in listed:
            problems.add(
                f"{path}: line {line}: {shown(word)} is neither an image of --list nor its number"
            )
        found.add(id_)
    return found


def _lines(path: Path, splits: int) -> list[tuple[int, list[str]]]:
    """Return the line number and the words of every line that is not blank, split at most `splits` times."""
    lines = enumerate(read_text(path).splitlines(), start=1)
    return [
        (number, line.split(maxsplit=splits)) for number, line in lines if line.strip()
    ]
