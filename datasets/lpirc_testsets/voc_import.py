"""Imports a data set annotated in VOC format: a folder of XML files and a folder of images."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from lpirc_testsets.errors import Problems, Reports, TestSetError
from lpirc_testsets.file_bytes import read_text
from lpirc_testsets.folder import Category, TestSet
from lpirc_testsets.formats import FileOption, Format
from lpirc_testsets.ground_truth import NamedBox
from lpirc_testsets.presence import is_file
from lpirc_testsets.set_building import (
    Categories,
    SourceImage,
    build_annotated,
    numbered,
    require_folder,
)
from lpirc_testsets.voc_reader import VocAnnotation, annotations_below, read_voc

EXTENSIONS = ("", ".jpg", ".JPG", ".jpeg", ".JPEG")


def import_voc(
    annotations: Path,
    images: Path,
    out: Path,
    categories: Path | None = None,
    reports: Reports | None = None,
) -> TestSet:
    """Import a folder of VOC annotations and their images into the new folder `out`.

    The annotations, also those in subfolders, define the set: images without an annotation are left out, and images
    whose annotation names no object are included. Images are numbered by ascending file name. `categories` is a file
    with one name per line, numbered from 1; without it the names that occur are sorted and numbered from 1.

    Raises TestSetError: `import-missing` (no such folders), `import-invalid` with all problems found (20 at most),
    `testset-exists`, `testset-not-written`.
    """
    reports = reports or Reports()
    named = None if categories is None else _listed(categories, reports.problems)
    return import_annotations(
        annotations,
        images,
        out,
        named,
        None,
        reports,
    )


FORMAT = Format(
    import_voc,
    "Import VOC annotations; images without an annotation are left out.",
    (
        FileOption("annotations", "Folder of the XML files."),
        FileOption(
            "categories",
            "File with one category name per line, numbered from 1; default: all names that occur, sorted.",
            required=False,
        ),
    ),
)


def import_annotations(
    annotations: Path,
    images: Path,
    out: Path,
    named: Categories | None,
    listed: Sequence[str] | None,
    reports: Reports,
) -> TestSet:
    """Import as `import_voc` does; `listed` has the ids of images, without extension, in the order of their numbers.

    Listed images without an annotation have no objects.
    """
    require_folder(annotations)
    require_folder(images)
    annotated = list(_read_all(annotations, images, listed, reports.problems))
    if listed is None:
        annotated.sort(key=lambda each: each[0].file)
    if named is None:
        names = sorted({box.name for _, boxes in annotated for box in boxes})
        named = {
            name: Category(number, name) for number, name in enumerate(names, start=1)
        }
    return build_annotated(
        out,
        annotated,
        named,
        annotations,
        reports,
    )


def _read_all(
    annotations: Path,
    images: Path,
    listed: Sequence[str] | None,
    problems: Problems,
) -> Iterator[tuple[SourceImage, tuple[NamedBox, ...]]]:
    try:
        found = annotations_below(annotations)
    except OSError as error:
        raise TestSetError(
            "import-missing", f"{error.filename}: {error.strerror}"
        ) from error
    if not found:
        problems.add(
            f"{annotations}: no XML files in it",
            remedy="name the folder with the annotations",
        )
    present = frozenset(found)
    for path in found if listed is None else _of_list(annotations, listed, found):
        try:
            annotation = (
                read_voc(path) if path in present else VocAnnotation("", None, (), ())
            )
        except ValueError as error:
            problems.add(str(error))
            continue
        problems.add(*annotation.problems)
        name = path.relative_to(annotations)
        file = image_file(images, name, annotation.file)
        source_id = name.with_suffix("").as_posix()
        yield (
            SourceImage(
                images / file,
                file,
                annotation.size,
                source_id,
                origin=path,
            ),
            annotation.objects,
        )


def _of_list(
    annotations: Path,
    listed: Sequence[str],
    found: Sequence[Path],
) -> list[Path]:
    """Return the annotations of listed images.

    An id includes the subfolder. It may be only the file name if no other annotation has that name.
    """
    uses = Counter(path.stem for path in found)
    known = {path.stem: path for path in found if uses[path.stem] == 1}
    known |= {
        path.relative_to(annotations).with_suffix("").as_posix(): path for path in found
    }
    return [known.get(id_, annotations / f"{id_}.xml") for id_ in listed]


def image_file(
    images: Path,
    annotation: Path,
    stated: str,
) -> str:
    """Find the image of an annotation under the stated name, else under the annotation's own name.

    It may be in the annotation's subfolder or at the top. Returns the stated name if there is no such image, so that
    the copy reports it.
    """
    plain = annotation.with_suffix("").name
    for stem in filter(None, (stated, plain)):
        for folder in dict.fromkeys((Path(), annotation.parent)):
            for extension in EXTENSIONS:
                candidate = folder / (stem + extension)
                if _may_be_file(images / candidate):
                    return candidate.as_posix()
    return stated or plain


def _may_be_file(path: Path) -> bool:
    try:
        return is_file(path)
    except OSError:
        return True  # copying it says what is wrong


def _listed(path: Path, problems: Problems) -> Categories:
    try:
        names = [line.strip() for line in read_text(path).splitlines() if line.strip()]
    except TestSetError as error:
        problems.add(error.sentence)
        return {}
    return numbered(
        ((name, number, name) for number, name in enumerate(names, start=1)),
        path,
        problems,
    )
