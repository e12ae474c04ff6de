"""Finds what belongs together in a folder with YOLO's text files: texts, images, and the names of the classes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lpirc_testsets.errors import Problems, TestSetError
from lpirc_testsets.file_bytes import file_bytes
from lpirc_testsets.presence import files_below, is_file, is_folder
from lpirc_testsets.values import text_number
from lpirc_testsets.yolo_names import YAML, has_names, read_classes

IMAGES = "images"
LABELS = "labels"
PICTURES = (".png", ".webp", ".bmp", ".tif", ".tiff", ".heic", ".heif", ".avif", ".gif", ".jpg", ".jpeg")  # fmt: skip
TEXT = ".txt"
NO_LABELS = ("classes.txt", "labels.txt", "train.txt", "val.txt", "valid.txt", "test.txt")  # fmt: skip
"""Names of text files beside YOLO's that hold no objects, unless they begin with a line of numbers."""
CLASS_FILES = ("classes.txt", "obj.names", "classes.names")
READ_AS_YOLO = "read as YOLO's text files, since it has lines of numbers in .txt files"
NAMES_WANTED = "data.yaml, classes.txt or obj.names"
OF_BOX = 5
"""The values of a line with a box."""
OF_DETECTION = 7
"""The values of a line of detections without a header."""
_FIRST_BYTES = 4096


@dataclass(frozen=True)
class YoloFolder:
    """The folder of the text files, that of the images, and both by name without suffix, relative to their folder."""

    labels: Path
    images: Path
    texts: dict[str, Path]
    pictures: dict[str, Path]


def is_label_text(path: Path) -> bool:
    """Return True if a file is one of YOLO's: its first line begins with five numbers, or is missing.

    A file with one of the names `NO_LABELS` is one only with such a line.
    """
    if path.suffix.lower() != TEXT:
        return False
    cells = _first_cells(path)
    if not cells:
        return path.name.lower() not in NO_LABELS
    return len(cells) >= OF_BOX and all(map(_is_number, cells[:OF_BOX]))


def is_row_of_detections(path: Path) -> bool:
    """Return True if the first line is `IMAGE CLASS CONFIDENCE XMIN YMIN XMAX YMAX`: its corners are no shares."""
    cells = _first_cells(path)
    if len(cells) != OF_DETECTION or not all(map(_is_number, cells)):
        return False
    return any(text_number(cell) > 1 for cell in cells[3:])


def _first_cells(path: Path) -> list[str]:
    text = file_bytes(path, _FIRST_BYTES).decode("utf-8-sig", errors="replace")
    first = next((line for line in text.splitlines() if line.strip()), "")
    return first.replace(",", " ").split()


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
    for path in texts_below(folder):
        if path.name.lower() not in NO_LABELS or is_label_text(path):
            yield name_of_text(path, folder), path


def texts_below(folder: Path) -> Iterator[Path]:
    """Yield all text files below a folder. Raises OSError."""
    for path in _visible(folder):
        if path.suffix.lower() == TEXT:
            yield path


def name_of_text(path: Path, folder: Path) -> str:
    """Return the name of a text file below a folder, without its suffix: that of its image."""
    return PurePosixPath(path.relative_to(folder).as_posix()).with_suffix("").as_posix()


def classes_beside(*folders: Path) -> Path | None:
    """Return the first file with the names of classes in these folders. Raises OSError."""
    for folder in dict.fromkeys(folders):
        for path in yaml_files(folder):
            text = file_bytes(path).decode("utf-8-sig", errors="replace")
            if has_names(text):
                return path
        for name in CLASS_FILES:
            if is_file(folder / name):
                return folder / name
    return None


def folders_above(folder: Path) -> list[Path]:
    """Return where else the names of classes may be: one folder above, above the last `labels`, and above that."""
    whole = folder.absolute()
    found = [whole.parent]
    for place in (whole, *whole.parents):
        if place.name == LABELS:
            return [*found, place.parent, place.parent.parent]
    return found


def yaml_files(*folders: Path) -> list[Path]:
    """Return the YAML files in these folders. Raises OSError."""
    paths = (
        path
        for folder in dict.fromkeys(folders)
        if is_folder(folder)
        for path in sorted(folder.iterdir())
    )
    return [path for path in paths if path.suffix.lower() in YAML and is_file(path)]


def class_names(path: Path, problems: Problems) -> dict[int, str]:
    """Return the names of all classes from 0 to the highest; a number without a name is its own.

    Raises as `read_classes` does.
    """
    named = read_classes(path, problems)
    count = max(named, default=-1) + 1
    return {number: named.get(number, str(number)) for number in range(count)}


def pictures_by_name(folder: Path) -> dict[str, Path]:
    """Return the images below a folder, by their names, and by these without capitals and without suffix.

    A short name that two images share is left out. Raises OSError.
    """
    every = dict(_pictures(folder))
    short: dict[str, list[Path]] = {}
    for name, path in every.items():
        stem = PurePosixPath(name).with_suffix("").as_posix()
        for other in {name.casefold(), stem, stem.casefold()}:
            short.setdefault(other, []).append(path)
    unique = {name: paths[0] for name, paths in short.items() if len(paths) == 1}
    return unique | every


def has_pictures(folder: Path) -> bool:
    """Return True if images are in a folder. Raises OSError."""
    return next(_pictures(folder), None) is not None


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


def _is_number(cell: str) -> bool:
    try:
        text_number(cell)
    except ValueError:
        return False
    return True
