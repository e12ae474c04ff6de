"""Builds a test set from what an importer read: copies images unchanged and refuses contradictory sources.

A format has a reader (`coco_reader`, `voc_reader`, `csv_reader`) and an importer (`coco_import`, `voc_import`).
"""

from __future__ import annotations

import hashlib
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
from PIL import Image as Pillow
from PIL import UnidentifiedImageError

from lpirc_testsets.box_corners import (
    coco_from_corners,
    corners_from_coco,
    leaving,
)
from lpirc_testsets.errors import Problems, Reports, TestSetError
from lpirc_testsets.file_bytes import file_bytes
from lpirc_testsets.folder import (
    IMAGES,
    LABELS,
    Category,
    Image,
    TestSet,
    contained,
    load_test_set,
)
from lpirc_testsets.ground_truth import NamedBox
from lpirc_testsets.presence import is_folder, is_there, not_a_folder
from lpirc_testsets.segmentations import require_segmentation
from lpirc_testsets.values import shown
from lpirc_testsets.writing import ObjectRecord, Record, new_folder, write_records

# MPO is Pillow's name for a JPEG that contains further pictures; some cameras and phones write these.
JPEG_FORMATS = ("JPEG", "MPO")
COPIED = "copied.txt"  # SHA-256, width and height of what is copied already, while a set is made
LEAST_FOR_FOLDER = 2  # if so many images are all missing, the folder is wrong
AT_ONCE = 256  # so many images at most are still copied after Ctrl-C
SEGMENTATION = "correct it there, or remove every segmentation for a set of boxes"
REPLACE = "put a whole JPEG with the stated size there, or take the image out of the annotations"
BELOW_IMAGES = "name the image as it lies in the folder of --images: train/0001.jpg, without / in front, .. and \\"
"""What to do about a name that leads elsewhere."""
REPLACE_FILE = "put a whole JPEG there, or take the file away"
REPLACE_LINE = "put a whole JPEG there, or correct the line or take it out"

Sizes = dict[str, tuple[int, int]]
Categories = dict[str, Category]
"""Categories with their numbers, by the names used in annotations."""


@dataclass(frozen=True)
class SourceImage:
    """An image to import.

    `path` is its file, `file` the name that it will have in the set. `size` is the (width, height) stated by the
    annotation file `origin`, or None if it states none. `sha256` is the expected hash, if known. `line` is that of
    `origin` which names it, if only one does.
    """

    path: Path
    file: str
    size: tuple[int, int] | None
    source_id: str
    origin: Path
    sha256: str = ""
    line: int | None = None


def build_test_set(
    out: Path,
    sources: Sequence[SourceImage],
    categories: Sequence[Category],
    records: Sequence[Record],
    reports: Reports,
    labels: bytes | None = None,
    info: Mapping[str, str] | None = None,
) -> TestSet:
    """Copy the images, numbered in the given order, and write the set, unless there are problems.

    `records` are its ground truth, with its `info`. `labels` is the content of `labels.csv`, if it has one. After an
    interruption, the next call with the same `out` does not decode or copy again the images already copied, unless
    they changed.

    Raises TestSetError `import-invalid` with everything in `problems`, `import-missing` if none of the images is there,
    and the errors of `writing.new_folder`.
    """
    problems = reports.problems
    _require_some(sources)
    files = Counter(source.file for source in sources)
    problems.add(
        *(
            f"{file}: {uses} images have this file name"
            for file, uses in files.items()
            if uses > 1
        )
    )
    with new_folder(out, resumable=True) as partial:
        made = _copy_all(sources, partial, reports)
        _refuse_outside(sources, made, records, problems)
        _refuse_segmentations(sources, made, records, problems)
        problems.raise_if_any("import-invalid")
        _remove_others(partial, files)
        write_records(
            partial,
            out.absolute().name,
            list(made.values()),
            categories,
            records,
            info,
        )
        if labels is not None:
            (partial / LABELS).write_bytes(labels)
    return load_test_set(out)


def build_annotated(
    out: Path,
    annotated: Sequence[tuple[SourceImage, Sequence[NamedBox]]],
    named: Categories,
    annotations: Path,
    reports: Reports,
) -> TestSet:
    """Build a set from images and their objects, read from `annotations`. Raises as `build_test_set` does."""
    objects = []
    problems = reports.problems
    for number, (source, boxes) in enumerate(annotated, start=1):
        for box in boxes:
            if box.name not in named:
                problems.add(
                    f"{source.origin}: {shown(box.name)} is not among the categories"
                )
                continue
            x, y, width, height = coco_from_corners(np.array([box.corners])).tolist()[0]
            if min(width, height) < 0:
                problems.add(
                    f"{source.origin}: box {list(box.corners)} of image {source.file} is inverted: "
                    "its width or height is negative"
                )
                continue
            bbox = (x, y, width, height)
            objects.append(
                ObjectRecord(
                    number,
                    named[box.name].id,
                    bbox,
                    width * height,
                    box.crowd,
                    box.difficult,
                )
            )
    if not objects and not problems.count:
        problems.add(f"{annotations}: no objects of these images in it")
    categories = sorted(named.values(), key=lambda each: each.id)
    return build_test_set(
        out,
        [source for source, _ in annotated],
        categories,
        objects,
        reports,
    )


def require_folder(folder: Path) -> None:
    """Raise TestSetError `import-missing` if the folder does not exist or cannot be accessed."""
    try:
        problem = "" if is_folder(folder) else not_a_folder(folder)
    except OSError as error:
        problem = str(error.strerror)
    if problem:
        raise TestSetError("import-missing", f"{folder}: {problem}")


def numbered(
    names: Iterable[tuple[str, int, str]],
    path: Path,
    problems: Problems,
) -> Categories:
    """Return the categories of the file `path`, by the names used in annotations.

    `names` has (name used in annotations, number, name) for each.
    """
    found = [(key, Category(number, name)) for key, number, name in names]
    if not found:
        problems.add(f"{path}: no categories in it")
    columns = zip(*((key, one.id, one.name) for key, one in found), strict=True)
    twice = {
        shown(value)
        for column in columns
        for value, uses in Counter(column).items()
        if uses > 1
    }
    problems.add(
        *(
            f"{path}: category {value} is listed more than once"
            for value in sorted(twice)
        )
    )
    return dict(found)


def jpeg_size(data: bytes) -> tuple[int, int]:
    """Decode a JPEG completely and return its width and height in pixels. Raises ValueError for anything else."""
    if not data:
        raise ValueError("is empty")
    try:
        with Pillow.open(io.BytesIO(data)) as picture:
            if picture.format not in JPEG_FORMATS:
                raise ValueError(f"is {picture.format}, not JPEG")
            picture.load()
            return picture.size
    except UnidentifiedImageError as error:
        raise ValueError("is not an image") from error
    except (OSError, SyntaxError, Pillow.DecompressionBombError) as error:
        raise ValueError(f"cannot be decoded: {error}") from error


def _require_some(sources: Sequence[SourceImage]) -> None:
    """Raise TestSetError `import-missing` if no image is there: then another folder of images is meant."""
    of_set = any(one.sha256 for one in sources)  # which has a folder of its own
    if of_set or len(sources) < LEAST_FOR_FOLDER:
        return
    if not all(map(_is_only_missing, sources)):
        return
    first = sources[0]
    sentence = (
        f"{Path(first.path.as_posix().removesuffix(first.file))}: none of the {len(sources)} annotated images is "
        f"in this folder; the first is {shown(first.file)}; give --images the folder that has them"
    )
    raise TestSetError("import-missing", sentence)


def _is_only_missing(source: SourceImage) -> bool:
    try:
        contained(source.file)
        return not is_there(source.path)
    except (OSError, ValueError):  # which the copying tells
        return False


def _copy_all(
    sources: Sequence[SourceImage],
    partial: Path,
    reports: Reports,
) -> dict[int, Image]:
    """Copy on all cores (decoding releases Python's lock), and return the copied images by number."""
    made: dict[int, Image] = {}
    journal = partial / COPIED
    known = _copied(journal)
    with ThreadPoolExecutor() as pool, journal.open("a", buffering=1) as lines:
        for start in range(0, len(sources), AT_ONCE):
            part = sources[start : start + AT_ONCE]
            copies = pool.map(lambda each: _copy(each, partial / IMAGES, known), part)
            for number, (source, copied) in enumerate(
                zip(part, copies, strict=True), start + 1
            ):
                if isinstance(copied, str):
                    reports.problems.add(copied, remedy=_remedy(source))
                else:
                    sha256, size = copied
                    if sha256 not in known:
                        lines.write(f"{sha256} {size[0]} {size[1]}\n")
                    made[number] = Image(
                        number,
                        source.file,
                        *size,
                        sha256,
                        source.source_id,
                    )
                reports.progress(number, len(sources))
    return made


def _remedy(source: SourceImage) -> str:
    """Return what to do about an image that cannot be copied."""
    try:
        contained(source.file)
    except ValueError:
        return BELOW_IMAGES
    if source.line is not None:
        return REPLACE_LINE
    return REPLACE if source.size is not None else REPLACE_FILE


def _copied(journal: Path) -> Sizes:
    """Return the sizes of the images already copied, by SHA-256; a line cut off by a crash is ignored."""
    text = ""
    if journal.exists():
        text = journal.read_text("ascii", "replace")
    found = re.findall(r"^([0-9a-f]{64}) (\d+) (\d+)\n", text, re.MULTILINE)
    return {sha256: (int(width), int(height)) for sha256, width, height in found}


def _copy(
    source: SourceImage,
    images: Path,
    known: Sizes,
) -> tuple[str, tuple[int, int]] | str:
    """Copy one image if necessary; return its SHA-256 and size, or a sentence about a problem.

    Raises OSError if it cannot write.
    """
    try:
        target = images / contained(source.file)
        contained(source.source_id)
    except ValueError as error:
        return f"{source.origin}: {error}"
    try:
        data = file_bytes(source.path)
        sha256 = hashlib.sha256(data).hexdigest()
        intact = None
        if sha256 == source.sha256:
            intact = source.size
        size = intact or known.get(sha256) or jpeg_size(data)
    except OSError as error:
        path = error.filename or source.path
        if source.line is not None:
            return f"{source.origin}: line {source.line}: {path}: {error.strerror}"
        return f"{path}: {error.strerror} (image of {source.origin})"
    except ValueError as error:
        return f"{source.path}: {error}"
    if source.sha256 not in ("", sha256):
        return f"{source.path}: changed since {source.origin} was written"
    if source.size and source.size != size:
        stated = f"{source.size[0]} x {source.size[1]}"
        return f"{source.path}: is {size[0]} x {size[1]} pixels, {source.origin} says {stated}"
    if not (sha256 in known and target.is_file() and target.read_bytes() == data):
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    return sha256, size


def _remove_others(partial: Path, files: Iterable[str]) -> None:
    """Remove the list of copied images, and files left by an interrupted import of other images."""
    wanted = {partial / IMAGES / file for file in files}
    for path in partial.rglob("*"):
        if path.is_file() and path not in wanted:
            path.unlink()


def _refuse_outside(
    sources: Sequence[SourceImage],
    made: dict[int, Image],
    records: Sequence[Record],
    problems: Problems,
) -> None:
    objects = [each for each in records if isinstance(each, ObjectRecord)]
    known = [each for each in objects if each.image in made]
    if not known:
        return
    corners = corners_from_coco(
        np.array([each.bbox for each in known], dtype=np.float64)
    )
    sizes = np.array(
        [(made[each.image].width, made[each.image].height) for each in known],
        dtype=np.float64,
    )
    images = np.array([each.image for each in known])
    for index, box in leaving(corners, sizes, images):
        image = made[known[index].image]
        problems.add(
            f"{sources[image.number - 1].origin}: {box} {image.file} "
            f"of {image.width} x {image.height} pixels"
        )


def _refuse_segmentations(
    sources: Sequence[SourceImage],
    made: dict[int, Image],
    records: Sequence[Record],
    problems: Problems,
) -> None:
    for number, record in enumerate(records, start=1):
        if not isinstance(record, ObjectRecord) or record.segmentation is None:
            continue
        if (image := made.get(record.image)) is None:
            continue
        try:
            require_segmentation(
                orjson.loads(record.segmentation), (image.width, image.height)
            )
        except ValueError as error:
            origin = sources[record.image - 1].origin
            problems.add(
                f"{origin}: object {number}: {error} (image {image.file})",
                remedy=SEGMENTATION,
            )
