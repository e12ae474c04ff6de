"""Finds the JPEG images in a folder of mixed files, by their content."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image as Pillow

from lpirc_testsets.errors import TestSetError
from lpirc_testsets.file_bytes import file_bytes, require_regular
from lpirc_testsets.presence import files_below
from lpirc_testsets.set_building import require_folder
from lpirc_testsets.values import shown

JPEG_START = b"\xff\xd8\xff"
JPEG_SUFFIXES = (".jpg", ".jpeg")
NAMED = 3  # files in one sentence
ORIENTATION = 274  # the tag of EXIF
UPRIGHT = (None, 0, 1)


@dataclass(frozen=True)
class Found:
    """The files below a folder, by name relative to it: JPEG images, and all others. Hidden ones are ignored.

    A file whose name says JPEG is one of the images, whatever it holds: who decodes it says what is wrong.
    """

    folder: Path
    images: tuple[str, ...]
    others: tuple[str, ...]


def images_in(folder: Path) -> Found:
    """Return the files below a folder, sorted.

    Raises TestSetError `import-missing` for a folder that is not there or may not be read, or holds no JPEG image.
    """
    require_folder(folder)
    images: list[str] = []
    others: list[str] = []
    try:
        for path in files_below(folder):
            name = path.relative_to(folder)
            if any(part.startswith(".") for part in name.parts):
                continue
            is_jpeg = path.suffix.lower() in JPEG_SUFFIXES
            is_jpeg |= file_bytes(path, len(JPEG_START)) == JPEG_START
            (images if is_jpeg else others).append(name.as_posix())
    except OSError as error:
        raise TestSetError(
            "import-missing", f"{error.filename}: {error.strerror}"
        ) from error
    if not images:
        sentence = f"{folder}: no JPEG image in it or its subfolders"
        if others:
            sentence += f", only {_some(others)}"
        sentence += "; name the folder that has them"
        raise TestSetError("import-missing", sentence)
    return Found(folder, tuple(sorted(images)), tuple(sorted(others)))


def left_out(folder: Path, others: Sequence[str], why: str) -> list[str]:
    """Return a sentence about files that are left out, or nothing if there are none."""
    if not others:
        return []
    return [f"{folder}: left out, since {why}: {_some(others)}."]


def _some(names: Sequence[str]) -> str:
    """Return the first names and the number of further ones."""
    listed = ", ".join(
        name if name.isprintable() else shown(name) for name in names[:NAMED]
    )
    rest = len(names) - NAMED
    return f"{listed} and {rest} more" if rest > 0 else listed


def size_in_header(path: Path) -> tuple[int, int] | None:
    """Read an image's (width, height) from its header; None for a missing or broken one, which its copy reports."""
    try:
        require_regular(path)
        with Pillow.open(path) as picture:
            return picture.size
    except (OSError, SyntaxError, ValueError, Pillow.DecompressionBombError):
        return None


def orientation(path: Path) -> int | None:
    """Return the turn that the EXIF data of an image state, None if they state none or the image is upright."""
    try:
        with warnings.catch_warnings(action="ignore"), Pillow.open(path) as picture:
            stated = picture.getexif().get(ORIENTATION)
    except (OSError, SyntaxError, ValueError, Pillow.DecompressionBombError):
        return None
    return None if stated in UPRIGHT else int(stated)
