"""What every importer shares: it copies images untouched and refuses sources that contradict each other."""

from __future__ import annotations

import hashlib
import io
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import numpy as np
from PIL import Image as Pillow
from PIL import UnidentifiedImageError

from lpirc_testsets.boxes import corners_from_coco, outside
from lpirc_testsets.errors import Problems, TestSetError
from lpirc_testsets.file_bytes import file_bytes
from lpirc_testsets.folder import IMAGES, LABELS, Category, Image, TestSet, contained, load_test_set
from lpirc_testsets.writing import ObjectRecord, new_folder, write_records

# Pillow's name for a JPEG with further pictures in it, as some cameras and telephones write, is MPO.
JPEG_FORMATS = ("JPEG", "MPO")


@dataclass(frozen=True)
class SourceImage:
    """An image to import.

    `path` is its file, `file` the name that it keeps, `size` (width, height) what the annotation file `origin` states,
    None without a statement.
    """

    path: Path
    file: str
    size: tuple[int, int] | None
    source_id: str
    origin: Path


def build_test_set(
    out: Path,
    sources: Sequence[SourceImage],
    categories: Sequence[Category],
    objects: Sequence[ObjectRecord],
    problems: Problems,
    labels: bytes | None = None,
) -> TestSet:
    """Copy the images, numbered in the order given, and write the set, unless there are problems.

    `labels` is the content of its `labels.csv`, if it has one.

    Raises TestSetError `import-invalid` with everything in `problems`, and those of `writing.new_folder`.
    """
    for file, uses in Counter(source.file for source in sources).items():
        if uses > 1:
            problems.add(f"{file}: {uses} images have this file name")
    with new_folder(out) as partial:
        made = _copy_all(sources, partial / IMAGES, problems)
        _refuse_outside(sources, made, objects, problems)
        problems.raise_if_any("import-invalid")
        write_records(partial, out.absolute().name, list(made.values()), categories, objects)
        if labels is not None:
            (partial / LABELS).write_bytes(labels)
    return load_test_set(out)


def require_folder(folder: Path) -> None:
    """Raise TestSetError `import-missing` if there is no such folder."""
    if not folder.is_dir():
        raise TestSetError("import-missing", f"{folder}: no such folder")


def jpeg_size(data: bytes) -> tuple[int, int]:
    """Decode all of a JPEG and return its width and height in pixels. Raises ValueError for anything else."""
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


def _copy_all(sources: Sequence[SourceImage], images: Path, problems: Problems) -> dict[int, Image]:
    """Copy on all cores (decoding releases Python's lock); return the images by number."""
    made: dict[int, Image] = {}
    with ThreadPoolExecutor() as pool:
        copies = pool.map(_copy, range(1, len(sources) + 1), sources, repeat(images))
        for number, copied in enumerate(copies, start=1):
            if isinstance(copied, Image):
                made[number] = copied
            else:
                problems.add(copied)
    return made


def _copy(number: int, source: SourceImage, images: Path) -> Image | str:
    """Copy one image, or say why not."""
    try:
        target = images / contained(source.file)
        contained(source.source_id)
    except ValueError as error:
        return f"{source.origin}: {error}"
    try:
        data = file_bytes(source.path)
        size = jpeg_size(data)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
    except OSError as error:
        return f"{error.filename or source.path}: {error.strerror} (image of {source.origin})"
    except ValueError as error:
        return f"{source.path}: {error}"
    if source.size and source.size != size:
        stated = f"{source.size[0]} x {source.size[1]}"
        return f"{source.path}: is {size[0]} x {size[1]} pixels, {source.origin} says {stated}"
    return Image(number, source.file, *size, hashlib.sha256(data).hexdigest(), source.source_id)


def _refuse_outside(
    sources: Sequence[SourceImage],
    made: dict[int, Image],
    objects: Sequence[ObjectRecord],
    problems: Problems,
) -> None:
    known = [each for each in objects if each.image in made]
    if not known:
        return
    corners = corners_from_coco(np.array([each.bbox for each in known], dtype=np.float64))
    sizes = np.array([(made[each.image].width, made[each.image].height) for each in known], dtype=np.float64)
    for index in np.flatnonzero(outside(corners, sizes)):
        image, box = made[known[index].image], corners[index].tolist()
        problems.add(
            f"{sources[image.number - 1].origin}: box {box} leaves image {image.file} "
            f"of {image.width} x {image.height} pixels"
        )
