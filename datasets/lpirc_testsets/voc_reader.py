"""Reads one VOC annotation file.

Format: the VOC development kit, http://host.robots.ox.ac.uk/pascal/VOC/voc2012/htmldoc/. ILSVRC DET uses the same
format without `difficult` and without the extension in `filename`. Corners are inclusive, the first pixel is 1, and
some files contain fractions.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from xml.etree import ElementTree as ET
from xml.parsers.expat import errors as expat

from lpirc_testsets.errors import Problems
from lpirc_testsets.file_bytes import file_bytes
from lpirc_testsets.folder import MANIFEST
from lpirc_testsets.ground_truth import GroundTruth, NamedBox
from lpirc_testsets.presence import files_below, is_folder, is_there
from lpirc_testsets.values import LONGEST_NAME, finite_number, is_name, shown

ANNOTATIONS = "Annotations"
MOST_BYTES = 2 * 2**20  # some ten thousand objects
_ENDS_EARLY = tuple(
    expat.codes[one]
    for one in (expat.XML_ERROR_NO_ELEMENTS, expat.XML_ERROR_UNCLOSED_TOKEN)
)
"""The parser's codes of a text that ends too early."""


class _WithoutDtd(ET.TreeBuilder):
    """Builds the elements of a document in any encoding, and refuses declarations of entities or attributes."""

    def doctype(
        self,
        name: str,
        pubid: str | None,
        system: str | None,
    ) -> None:
        """Refuse a document type declaration as soon as it begins."""
        raise ValueError(
            "it has a DTD (<!DOCTYPE ...>), which annotations do not need; remove it"
        )


@dataclass(frozen=True)
class VocAnnotation:
    """The content of an annotation file: `size` (width, height) of the image if stated, objects, and `problems`.

    `file` is the name that it gives its image, or "".
    """

    file: str
    size: tuple[int, int] | None
    objects: tuple[NamedBox, ...]
    problems: tuple[str, ...]


def read_voc(path: Path) -> VocAnnotation:
    """Read one annotation file. Raises ValueError that names the file if nothing in it can be used."""
    root = _root(path)
    problems: list[str] = []
    size: tuple[int, int] | None = None
    try:
        size = _size(root)
    except ValueError as error:
        problems.append(f"{path}: {error}")
    objects = []
    for index, element in enumerate(root.findall("object"), start=1):
        try:
            objects.append(_object(element))
        except ValueError as error:
            problems.append(f"{path}: object {index}: {error}")
    return VocAnnotation(_file(root), size, tuple(objects), tuple(problems))


def voc_files(folder: Path) -> list[Path]:
    """Return the annotation files in or below a VOC folder; none if the path is a test set or not a folder.

    Raises OSError, also for a subfolder that may not be listed.
    """
    if not is_folder(folder) or is_there(folder / MANIFEST):
        return []
    annotations = folder / ANNOTATIONS
    return annotations_below(annotations if is_folder(annotations) else folder)


def annotations_below(folder: Path) -> list[Path]:
    """Return the XML files in a folder and its subfolders. Raises OSError."""
    return [path for path in files_below(folder) if path.suffix.lower() == ".xml"]


def read_voc_folder(files: list[Path]) -> GroundTruth:
    """Read annotation files, one per image; images and categories are numbered by ascending name.

    Raises TestSetError `ground-truth-invalid` with every problem found, 20 at most.
    """
    problems = Problems()
    found = []
    for path in files:
        try:
            found.append((path, read_voc(path)))
        except ValueError as error:
            problems.add(str(error))
    for _, annotation in found:
        problems.add(*annotation.problems)
    base = Path(os.path.commonpath([path.parent for path in files]))
    images: dict[str, VocAnnotation] = {}
    for path, one in found:
        name = (path.parent.relative_to(base) / (one.file or path.stem)).as_posix()
        if images.setdefault(name, one) is not one:
            problems.add(
                f"{path}: another annotation is of the same image {shown(name)}, by its <filename>"
            )
    problems.raise_if_any("ground-truth-invalid")
    names = sorted({each.name for one in images.values() for each in one.objects})
    ids = {name: id_ for id_, name in enumerate(names, start=1)}
    rows = [
        (number, ids[each.name], *each.corners, each.difficult)
        for number, name in enumerate(sorted(images), start=1)
        for each in images[name].objects
    ]
    numbered = dict(enumerate(sorted(images), start=1))
    sizes = {}
    for number, name in numbered.items():
        if size := images[name].size:
            sizes[number] = size
    return GroundTruth.of_corners(
        numbered, dict(enumerate(names, start=1)), rows, sizes
    )


def _why(error: Exception, data: bytes) -> str:
    """Return why data is no XML: what the parser says, or that it is empty or ends too early."""
    if isinstance(error, ET.ParseError) and error.code in _ENDS_EARLY:
        if not data.strip():
            return "it is empty"
        return "it ends in the middle, so it was cut short; copy it again"
    return str(error)


def _root(path: Path) -> ET.Element:
    try:
        data = file_bytes(path, MOST_BYTES + 1)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from error
    if len(data) > MOST_BYTES:
        raise ValueError(
            f"{path}: more than {MOST_BYTES} bytes are too many for an annotation"
        )
    try:
        # Limited in size and without a DTD, so there are no entities to expand.
        root = ET.fromstring(data, ET.XMLParser(target=_WithoutDtd()))  # noqa: S314
    except (ET.ParseError, ValueError, LookupError) as error:
        raise ValueError(
            f"{path}: not a plain XML file: {_why(error, data)}"
        ) from error
    if root.tag != "annotation":
        raise ValueError(
            f"{path}: its root is <{root.tag[:40]}>, expected <annotation>"
        )
    return root


def _file(root: ET.Element) -> str:
    """Return the name of the image: `filename`, else the end of `path`; "" without either.

    Programs for labelling write where the image lay on their machine, which is no part of its name.
    """
    stated = (root.findtext("filename") or "").strip()
    if not stated:
        return PureWindowsPath((root.findtext("path") or "").strip()).name
    is_elsewhere = "\\" in stated or stated.startswith("/")
    return PureWindowsPath(stated).name if is_elsewhere else stated


def _size(root: ET.Element) -> tuple[int, int] | None:
    element = root.find("size")
    if element is None:
        return None
    width = _number(element, "width")
    height = _number(element, "height")
    if not (width.is_integer() and height.is_integer()):
        raise ValueError(f"size {width} x {height} is not in whole pixels")
    return int(width), int(height)


def _object(element: ET.Element) -> NamedBox:
    name = (element.findtext("name") or "").strip()
    if not is_name(name):
        raise ValueError(
            f"<name> {shown(name)} is not a name of 1 to {LONGEST_NAME} characters"
        )
    box = element.find("bndbox")
    if box is None:
        raise ValueError(f"{shown(name)}: <bndbox> is missing")
    corners = tuple(_number(box, tag) for tag in ("xmin", "ymin", "xmax", "ymax"))
    xmin, ymin, xmax, ymax = corners
    if xmax < xmin or ymax < ymin:
        raise ValueError(f"{shown(name)}: box {list(corners)} is inverted")
    difficult = (element.findtext("difficult") or "0").strip()
    if difficult not in ("0", "1"):
        raise ValueError(
            f"{shown(name)}: difficult {shown(difficult)} is neither 0 nor 1"
        )
    return NamedBox(name, (xmin, ymin, xmax, ymax), difficult == "1")


def _number(element: ET.Element, tag: str) -> float:
    return finite_number((element.findtext(tag) or "").strip(), f"<{tag}>")
