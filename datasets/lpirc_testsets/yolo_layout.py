"""Finds what belongs together in a folder with YOLO's text files: texts, images, and the names of the classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lpirc_testsets.errors import Problems, TestSetError
from lpirc_testsets.file_bytes import file_bytes
from lpirc_testsets.presence import files_below, is_file, is_folder
from lpirc_testsets.values import text_number
from lpirc_testsets.yolo_names import KEY, YAML, read_classes

IMAGES = "images"
LABELS = "labels"
PICTURES = (".png", ".webp", ".bmp", ".tif", ".tiff", ".heic", ".heif", ".avif", ".gif", ".jpg", ".jpeg")  # fmt: skip
TEXT = ".txt"
NO_LABELS = ("classes.txt", "labels.txt", "train.txt", "val.txt", "valid.txt", "test.txt")  # fmt: skip
"""Text files beside YOLO's that hold no objects."""
CLASS_FILES = ("classes.txt", "obj.names", "classes.names")
NAMES_WANTED = "data.yaml, classes.txt or obj.names"
_FIRST_BYTES = 4096


@dataclass(frozen=True)
class YoloFolder:
    """The folder of the text files, that of the images, and both by name without suffix, relative to their folder."""

    labels: Path
    images: Path
    texts: dict[str, Path]
    pictures: dict[str, Path]


def is_label_text(path: Path) -> bool:
    """Return True if a file is one of YOLO's by its name, and its first line begins with numbers or is missing."""
    if path.suffix.lower() != TEXT or path.name.lower() in NO_LABELS:
        return False
    lines = file_bytes(path, _FIRST_BYTES).decode(errors="replace").splitlines()
    first = next((line for line in lines if line.strip()), "0 0 0 0 0")
    cells = first.split()
    return len(cells) >= 5 and all(map(_is_number, cells[:5]))


def yolo_folder(folder: Path, images: Path | None) -> YoloFolder:
    """Return what a folder holds. Raises TestSetError `ground-truth-missing` if there are no images; OSError."""
    labels = folder / LABELS if is_folder(folder / LABELS) else folder
    for place in _image_places(folder, images):
        pictures = dict(sorted(_pictures(place)))
        if pictures:
            texts = dict(label_texts(labels))
            return YoloFolder(labels, place, texts, pictures)
    looked = ", ".join(map(str, _image_places(folder, images)))
    raise TestSetError(
        "ground-truth-missing",
        f"{folder}: YOLO's text files give shares of an image, and no images are in {looked}: "
        "name their folder with --images FOLDER",
    )


def label_texts(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield YOLO's text files below a folder, by name without suffix. Raises OSError."""
    for path in _visible(folder):
        if path.suffix.lower() == TEXT and path.name.lower() not in NO_LABELS:
            yield _stem(path, folder), path


def classes_beside(*folders: Path) -> Path | None:
    """Return the first file with the names of classes in these folders. Raises OSError."""
    for folder in dict.fromkeys(folders):
        for path in sorted(folder.iterdir()) if is_folder(folder) else ():
            if path.suffix.lower() in YAML and is_file(path):
                text = file_bytes(path).decode(errors="replace")
                if KEY.search(text):
                    return path
        for name in CLASS_FILES:
            if is_file(folder / name):
                return folder / name
    return None


def class_names(path: Path, problems: Problems) -> dict[int, str]:
    """Return the names of all classes from 0 to the highest; a number without a name is its own.

    Raises as `read_classes` does.
    """
    named = read_classes(path, problems)
    count = max(named, default=-1) + 1
    return {number: named.get(number, str(number)) for number in range(count)}


def _image_places(folder: Path, images: Path | None) -> list[Path]:
    if images is not None:
        return [images]
    places = [folder / IMAGES]
    parts = list(folder.absolute().parts)
    if LABELS in parts:
        last = len(parts) - 1 - parts[::-1].index(LABELS)
        parts[last] = IMAGES
        places.append(Path(*parts))
    return [*places, folder]


def _pictures(folder: Path) -> Iterator[tuple[str, Path]]:
    if is_folder(folder):
        for path in _visible(folder):
            if path.suffix.lower() in PICTURES:
                yield path.relative_to(folder).as_posix(), path


def _visible(folder: Path) -> Iterator[Path]:
    for path in files_below(folder):
        parts = path.relative_to(folder).parts
        if not any(part.startswith(".") for part in parts):
            yield path


def _stem(path: Path, folder: Path) -> str:
    return PurePosixPath(path.relative_to(folder).as_posix()).with_suffix("").as_posix()


def _is_number(cell: str) -> bool:
    try:
        text_number(cell)
    except ValueError:
        return False
    return True
