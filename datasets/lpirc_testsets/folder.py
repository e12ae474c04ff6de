"""A test set on disk.

    manifest.json       format, name, digest, categories, and every image with its number, size and SHA-256
    ground_truth.json   COCO form; the image id is the image number 1..N
    images/             the JPEG files, untouched, under the names they came with
    labels.csv          in a set for classification: one label per image (`lpirc_testsets.class_labels`)

The digest identifies the set: one SHA-256 over the hashes of the images in order, the hash of the ground truth and the
categories. It does not depend on the set's path and name.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from lpirc_testsets.errors import TestSetError
from lpirc_testsets.file_bytes import Name, path_of, require_regular
from lpirc_testsets.presence import is_file, is_folder, is_there, not_a_folder
from lpirc_testsets.values import is_name, json_value, of_version, shown

FORMAT = "lpirc-testset"
VERSION = 1
CONTEST = "contest.toml"
"""The settings in a contest's folder."""
MANIFEST = "manifest.json"
GROUND_TRUTH = "ground_truth.json"
IMAGES = "images"
LABELS = "labels.csv"

_KINDS: dict[type, str] = {
    int: "a whole number",
    str: "a text in quotation marks",
    list: "a list [...]",
    dict: "an object {...}",
}
"""What a value of the manifest is called in a sentence."""

T = TypeVar("T")


def is_test_set(folder: Path) -> bool:
    """Return True for a folder that has what each test set has. Raises OSError."""
    return is_file(folder / MANIFEST) and is_folder(folder / IMAGES)


def set_above(folder: Path) -> Path | None:
    """Return the test set that a folder, such as its images, is in. Raises OSError."""
    above = folder.parent if folder.name else folder.absolute().parent
    return above if is_test_set(above) else None


def no_place(path: Path) -> str:
    """Return why nothing may be written there, to go on a sentence that begins with the path, or "". Raises OSError."""
    place = path.absolute()
    for folder in (place, *place.parents):
        # Asked first, so that a place that cannot be read is named itself, and no file below it.
        if not is_folder(folder):
            continue
        if is_test_set(folder):
            return f"is in the test set {folder}, where nothing may be added"
    return ""


def no_list(path: Path | str, document: object, key: str) -> str:
    """Return that a JSON document lacks a list that COCO files have, and what it is instead if that is known."""
    if isinstance(document, dict) and document.get("format") == FORMAT:
        folder = Path(path).parent
        return f"{path}: it is the manifest of a test set; name its folder, {folder}"
    return f'{path}: not a COCO file, it has no list "{key}"'


@dataclass(frozen=True)
class Category:
    """A category by the id that detections carry, and its name."""

    id: int
    name: str


@dataclass(frozen=True)
class Image:
    """One image: number 1..N, file relative to `images/`, size in pixels, SHA-256, id at its source."""

    number: int
    file: str
    width: int
    height: int
    sha256: str
    source_id: str


@dataclass(frozen=True)
class TestSet:
    """The content of a manifest: `images[i]` has number i + 1; `objects` is the number of annotated objects."""

    __test__: ClassVar[bool] = False  # pytest would take it for a class of tests

    folder: Path
    name: str
    digest: str
    images: tuple[Image, ...]
    categories: tuple[Category, ...]
    ground_truth_sha256: str
    objects: int

    @property
    def ground_truth_path(self) -> Path:
        """The file of this set's ground truth, in COCO form."""
        return self.folder / GROUND_TRUTH

    @property
    def labels_path(self) -> Path:
        """The file of this set's labels, if it is a classification set."""
        return self.folder / LABELS

    @property
    def has_labels(self) -> bool:
        """Return True for a classification set. Raises TestSetError `testset-damaged` if that cannot be determined."""
        try:
            return is_there(self.labels_path)
        except OSError as error:
            raise TestSetError(
                "testset-damaged", f"{self.labels_path}: {error.strerror}"
            ) from error

    @cached_property
    def images_digest(self) -> str:
        """The digest of what detections refer to: the SHA-256 of the images, in order, and the category ids."""
        images = [[image.file, image.sha256] for image in self.images]
        content = [images, [category.id for category in self.categories]]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def image_path(self, number: int) -> Path:
        """Return the file of image 1..N. Raises TestSetError `testset-no-such-image`."""
        if not 1 <= number <= len(self.images):
            raise TestSetError(
                "testset-no-such-image",
                f"image {number} is not in 1..{len(self.images)}",
            )
        return self.folder / IMAGES / self.images[number - 1].file


def load_test_set(folder: Name) -> TestSet:
    """Read the manifest of a test-set folder, without reading its other files.

    Raises TestSetError: `testset-missing` (no such folder), `testset-not-a-testset` (no manifest, or another format),
    `testset-damaged` (a manifest that contradicts itself or its digest).
    """
    path = path_of(folder)
    return _consistent(path, _manifest_text(path))


# Cached: a server and each process that it forks load it, which takes 0.2 s for 20,000 images.
@lru_cache(1)
def _consistent(folder: Path, text: str) -> TestSet:
    test_set = _parsed(folder, text)
    problems = contradictions(test_set)
    if problems:
        raise TestSetError("testset-damaged", problems[0], problems)
    return test_set


def read_manifest(folder: Name) -> TestSet:
    """Read a manifest, even one that contradicts itself. Raises TestSetError as `load_test_set` does."""
    path = path_of(folder)
    return _parsed(path, _manifest_text(path))


def _parsed(folder: Path, text: str) -> TestSet:
    path = folder / MANIFEST
    manifest = _manifest_json(path, text)
    try:
        truth = _typed(manifest, "ground_truth", dict)
        return TestSet(
            folder=folder,
            name=_typed(manifest, "name", str),
            digest=_typed(manifest, "digest", str),
            images=tuple(_image(entry) for entry in _typed(manifest, "images", list)),
            categories=tuple(
                Category(_typed(one, "id", int), _typed(one, "name", str))
                for one in _typed(manifest, "categories", list)
            ),
            ground_truth_sha256=_typed(truth, "sha256", str),
            objects=_typed(truth, "objects", int),
        )
    except KeyError as error:
        raise TestSetError("testset-damaged", f"{path}: {error} is missing") from error
    except (TypeError, ValueError) as error:
        raise TestSetError("testset-damaged", f"{path}: {error}") from error


def contradictions(test_set: TestSet) -> tuple[str, ...]:
    """Return how a manifest contradicts itself: a wrong digest, gaps in the numbering, a file used twice."""
    path = test_set.folder / MANIFEST
    problems = []
    if (
        compute_digest(
            test_set.images, test_set.ground_truth_sha256, test_set.categories
        )
        != test_set.digest
    ):
        problems.append(f"{path}: digest {test_set.digest} does not match its content")
    for position, image in enumerate(test_set.images, start=1):
        if image.number != position:
            problems.append(
                f"{path}: image {image.file} has number {image.number}, expected {position}"
            )
    uses = Counter(image.file for image in test_set.images)
    problems += [
        f"{path}: {file} is listed {count} times"
        for file, count in uses.items()
        if count > 1
    ]
    return tuple(problems)


def verify(test_set: TestSet) -> tuple[str, ...]:
    """Return what changed since the manifest was written, by reading and hashing every file of the set.

    There is a sentence for each image or ground truth file that is missing or has another SHA-256, and one if the
    digest of the manifest does not match its content.
    """
    problems = list(contradictions(test_set))
    expected = [(test_set.ground_truth_path, test_set.ground_truth_sha256)]
    expected += [
        (test_set.folder / IMAGES / image.file, image.sha256)
        for image in test_set.images
    ]
    for path, sha256 in expected:
        try:
            found = sha256_of(path)
        except OSError as error:
            problems.append(f"{path}: {error.strerror}")
            continue
        if found != sha256:
            problems.append(f"{path}: SHA-256 is {found}, the manifest says {sha256}")
    return tuple(problems)


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal. Raises OSError, also for a pipe, which might block."""
    require_regular(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def compute_digest(
    images: Sequence[Image],
    ground_truth_sha256: str,
    categories: Sequence[Category],
) -> str:
    """Compute the digest of a test set, in hexadecimal."""
    content = {
        "format": FORMAT,
        "version": VERSION,
        "images": [image.sha256 for image in images],
        "ground_truth": ground_truth_sha256,
        "categories": [[category.id, category.name] for category in categories],
    }
    canonical = json.dumps(
        content, sort_keys=True, separators=(",", ":"), ensure_ascii=True
    )
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def _manifest_text(folder: Path) -> str:
    path = folder / MANIFEST
    try:
        if not is_folder(folder):
            raise TestSetError("testset-missing", f"{folder}: {not_a_folder(folder)}")
        if not is_file(path):
            said = f"no {MANIFEST} in it, so it is not a test set; make one with referee testset import"
            if above := set_above(folder):
                said = f"it is a folder of the test set {above}; name that: {above}"
            if is_file(folder / CONTEST):
                said = (
                    f"it is a contest; its test set is the folder that the line testset in {folder / CONTEST} names, "
                    f"or without it {folder / 'testset'}"
                )
            raise TestSetError("testset-not-a-testset", f"{folder}: {said}")
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise TestSetError("testset-damaged", f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise TestSetError("testset-damaged", f"{path}: {error}") from error


def _manifest_json(path: Path, text: str) -> dict[str, Any]:
    try:
        manifest = json_value(text)
    except ValueError as error:
        raise TestSetError("testset-damaged", f"{path}: {error}") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise TestSetError(
            "testset-not-a-testset", f'{path}: its format is not "{FORMAT}"'
        )
    version = manifest.get("version")
    if type(version) is not int or version != VERSION:
        sentence = f"{path}: {of_version('version', version, VERSION)}"
        raise TestSetError("testset-not-a-testset", sentence)
    return manifest


def _image(entry: dict[str, Any]) -> Image:
    return Image(
        number=_typed(entry, "number", int),
        file=contained(_typed(entry, "file", str)),
        width=_typed(entry, "width", int),
        height=_typed(entry, "height", int),
        sha256=_typed(entry, "sha256", str),
        source_id=_typed(entry, "source_id", str),
    )


def contained(file: str) -> str:
    """Return a relative file name. Raises ValueError if it leads out of its folder, is blank, or is too long."""
    if (
        "\\" in file
        or "\0" in file
        or {"..", ".", ""} & set(file.split("/"))
        or not is_name(file)
    ):
        raise ValueError(
            f"{shown(file)} is not a plain file name relative to the folder of images"
        )
    return file


def _typed(entry: dict[str, Any], key: str, kind: type[T]) -> T:
    if not isinstance(entry, dict):
        raise ValueError(f'{shown(entry)} is not an object {{...}} with "{key}"')  # noqa: TRY004 - the value, not the program
    value = entry[key]
    if type(value) is kind:
        return value
    of = f"{entry['file']}: " if key != "file" and "file" in entry else ""
    if kind is int and isinstance(value, str) and value.strip().isdecimal():
        hint = f'is {json.dumps(value)}, a text; write the number without quotation marks: "{key}": {value.strip()}'
    else:
        hint = f"is {shown(value)}, and {_KINDS[kind]} is needed"
    raise ValueError(f'{of}"{key}" {hint}')
