"""Writes a test set atomically: the folder appears complete or not at all."""

from __future__ import annotations

import errno
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import starmap
from pathlib import Path
from typing import Any, TextIO

from lpirc_testsets.errors import TestSetError
from lpirc_testsets.folder import (
    FORMAT,
    GROUND_TRUTH,
    IMAGES,
    MANIFEST,
    VERSION,
    Category,
    Image,
    compute_digest,
    sha256_of,
)
from lpirc_testsets.operating_system import only_user, put_in_place, sync
from lpirc_testsets.presence import is_folder, is_there


@dataclass(frozen=True)
class ObjectRecord:
    """One object: `image` is its image's number 1..N, `bbox` is x, y, w, h as in COCO, `area` is in square pixels.

    `segmentation` is JSON as COCO's field of this name (`lpirc_testsets.segmentations`).
    """

    image: int
    category: int
    bbox: tuple[float, float, float, float]
    area: float
    crowd: bool = False
    difficult: bool = False
    segmentation: bytes | None = None


@dataclass(frozen=True)
class ClassRecord:
    """The class of a whole image."""

    image: int
    category: int


@dataclass(frozen=True)
class RegionRecord:
    """The pixels of one category in a label map: `counts` are compressed run lengths of `area` pixels in all.

    `size` is the image's (width, height).
    """

    image: int
    category: int
    counts: str
    area: int
    size: tuple[int, int]


Record = ObjectRecord | ClassRecord | RegionRecord


def require_new(out: Path) -> None:
    """Raise TestSetError `testset-exists` unless `out` is missing or an empty folder.

    Raises `testset-not-written` if the system denies access.
    """
    try:
        is_new = not is_there(out) or (is_folder(out) and not any(out.iterdir()))
    except OSError as error:
        raise TestSetError("testset-not-written", f"{out}: {error.strerror}") from error
    if not is_new:
        raise TestSetError(
            "testset-exists", f"{out}: exists already and is not an empty folder"
        )


@contextmanager
def new_folder(out: Path, *, resumable: bool = False) -> Iterator[Path]:
    """Make a folder beside `out`, with an empty `images/`, and rename it to `out` if the block ends without an error.

    The folder is synced to disk then. If the block fails, nothing is left behind, not even the folders above `out` that
    were not there. The exception is a `resumable` block
    that is interrupted or finds the disk full: it leaves its hidden folder for the next call with the same `out`.
    Raises TestSetError `testset-exists` if `out` exists and is not an empty folder, `testset-not-written` if the system
    refuses.
    """
    out = Path(os.path.realpath(out))  # unlike Path.resolve it accepts a loop of links
    require_new(out)
    partial = out.with_name(
        f".{out.name}{'' if resumable else '.' + secrets.token_hex(4)}.partial"
    )
    keep = resumable
    missing: list[Path] = []
    try:
        missing += [one for one in partial.parents if not is_there(one)]
        (partial / IMAGES).mkdir(parents=True, exist_ok=resumable)
        with _only_writer(partial, out):
            yield partial
        for path in (*partial.rglob("*"), partial):
            sync(path)
        put_in_place(partial, out)
        sync(out.parent)
    except TestSetError:
        keep = False
        raise
    except OSError as error:
        place = error.filename2 or error.filename or out  # of a rename, the target
        raise TestSetError(
            "testset-not-written", f"{place}: {error.strerror}"
        ) from error
    finally:
        if not keep:
            shutil.rmtree(partial, ignore_errors=True)
            _remove_empty(missing)


def _remove_empty(folders: Iterable[Path]) -> None:
    """Remove folders, the innermost first, up to one that is not empty."""
    with suppress(OSError):
        for folder in folders:
            folder.rmdir()


@contextmanager
def _only_writer(partial: Path, out: Path) -> Iterator[None]:
    try:
        with only_user(partial):
            yield
    except BlockingIOError as error:
        raise OSError(
            errno.EBUSY,
            "another import is writing to it; wait until that import ends",
            str(out),
        ) from error


def write_records(
    folder: Path,
    name: str,
    images: Sequence[Image],
    categories: Sequence[Category],
    records: Iterable[Record],
    info: Mapping[str, str] | None = None,
) -> None:
    """Write `ground_truth.json`, then `manifest.json`; the images must already be in `images/`.

    `info` is the ground truth's own, if it needs one.
    """
    all_records = [*records]
    # One at a time: parsed polygons take five times the memory of their text.
    annotations = starmap(_annotation, enumerate(all_records, start=1))
    listed_categories = [asdict(category) for category in categories]
    ground_truth: dict[str, Any] = {"info": dict(info)} if info else {}
    ground_truth |= {
        "images": [
            {
                "id": image.number,
                "file_name": image.file,
                "width": image.width,
                "height": image.height,
            }
            for image in images
        ],
        "annotations": annotations,
        "categories": listed_categories,
    }
    _write_json(folder / GROUND_TRUTH, ground_truth)
    sha256 = sha256_of(folder / GROUND_TRUTH)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "name": name,
        "digest": compute_digest(images, sha256, categories),
        "ground_truth": {"sha256": sha256, "objects": len(all_records)},
        "categories": listed_categories,
        "images": [asdict(image) for image in images],
    }
    _write_json(folder / MANIFEST, manifest)


def _annotation(number: int, record: Record) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "id": number,
        "image_id": record.image,
        "category_id": record.category,
    }
    if isinstance(record, ObjectRecord):
        entry |= _object(record)
    elif isinstance(record, RegionRecord):
        width, height = record.size
        entry |= {
            "segmentation": {"size": [height, width], "counts": record.counts},
            "area": record.area,
        }
    return entry


def _object(record: ObjectRecord) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "bbox": [_plain(value) for value in record.bbox],
        "area": _plain(record.area),
        "iscrowd": int(record.crowd),
        "difficult": int(record.difficult),
    }
    if record.segmentation is not None:
        entry["segmentation"] = json.loads(record.segmentation)
    return entry


def _plain(value: float) -> float:
    """Return a float with zero fraction as an integer: 3.0 becomes 3."""
    if float(value).is_integer():
        return int(value)
    return float(value)


def _write_json(path: Path, document: dict[str, Any]) -> None:
    """Write JSON with one line per entry of each list, so that people can read and compare it.

    A value may be an iterator instead of a list.
    """
    with path.open("w", encoding="utf-8", newline="\n") as file:
        separator = "{\n"
        for key, value in document.items():
            file.write(f"{separator}{json.dumps(key)}: ")
            _write_value(file, value)
            separator = ",\n"
        file.write("\n}\n")


def _write_value(file: TextIO, value: object) -> None:
    if not isinstance(value, list | Iterator):
        file.write(json.dumps(value, ensure_ascii=False))
        return
    separator = "[\n"
    for entry in value:
        file.write(separator + json.dumps(entry, ensure_ascii=False))
        separator = ",\n"
    file.write("[]" if separator == "[\n" else "\n]")
