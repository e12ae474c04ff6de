"""What replay needs of a test-set folder: which image has which SHA-256, number and file name."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from lpirc_client.errors import ClientError
from lpirc_client.recording import Recording, whole
from lpirc_client.regular import regular_bytes
from lpirc_client.wire import Category

NAME = "manifest.json"
T = TypeVar("T")


@dataclass(frozen=True)
class Image:
    """An image of the test set: its number there, its file below `images/`, the SHA-256 of the file."""

    number: int
    file: str
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """The images and categories of a test set in `folder`."""

    folder: Path
    images: tuple[Image, ...]
    categories: tuple[Category, ...]


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a test-set folder; ClientError when there is none or it is something else."""

    def taken(document: Any) -> Manifest:
        images = tuple(Image(int(i["number"]), str(i["file"]), str(i["sha256"])) for i in document["images"])
        categories = tuple(Category(int(c["id"]), str(c["name"])) for c in document["categories"])
        return Manifest(folder, images, categories)

    return from_manifest(folder, taken)


def from_manifest(folder: Path, take: Callable[[Any], T]) -> T:
    """What `take` makes of the manifest's JSON; ClientError `bad-testset` when it is none, or `take` fails on it."""
    path = folder / NAME
    try:
        return take(json.loads(regular_bytes(path)))
    except OSError as error:
        raise ClientError("bad-testset", f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise ClientError("bad-testset", f"{path}: not a test set's manifest: {error!r}") from error


def images_of(recording: Recording, manifest: Manifest) -> dict[str, int]:
    """Return the test set's number for each image text of the recording; ClientError names an unknown one.

    A text is a file name, a number, or a file name without its suffix. One that is the number of one image
    and the name of another is refused, because nothing tells which is meant.
    """
    numbers = {image.number for image in manifest.images}
    files = _numbers_by_name(manifest, with_suffix=True)
    stems = _numbers_by_name(manifest, with_suffix=False)
    found: dict[str, int] = {}
    for text, line in recording.image_lines.items():
        candidates = set(files.get(text) or stems.get(text) or ())
        number = whole(text)
        # "000012" is a name before it is a number
        if number in numbers and number is not None and not (candidates and text.startswith("0")):
            candidates.add(number)
        if len(candidates) != 1:
            raise _unclear(f"{recording.path}, line {line}: image {text!r}", candidates, manifest)
        found[text] = candidates.pop()
    return found


def _numbers_by_name(manifest: Manifest, *, with_suffix: bool) -> dict[str, set[int]]:
    """Return the numbers of the images that go by each name: the file's path and the path's last part."""
    numbers: dict[str, set[int]] = {}
    for image in manifest.images:
        path = PurePosixPath(image.file) if with_suffix else PurePosixPath(image.file).with_suffix("")
        for name in (str(path), path.name):
            numbers.setdefault(name, set()).add(image.number)
    return numbers


def _unclear(where: str, candidates: set[int], manifest: Manifest) -> ClientError:
    if not candidates:
        return ClientError("unknown-image", f"{where} is no number or file of the test set {manifest.folder}")
    numbers = " or ".join(map(str, sorted(candidates)))
    return ClientError(
        "ambiguous-image",
        f"{where} may be number {numbers} of the test set; write file names, with suffix and folder",
    )
