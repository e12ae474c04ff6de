"""Lists, reads and hashes a folder's images, numbered by a test set's manifest, or else by file name."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lpirc_client.errors import ModelError
from lpirc_client.files import read_regular
from lpirc_client.manifest import NAME, from_manifest, has_manifest

SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".ppm")


@dataclass(frozen=True)
class ImageFile:
    """An image's number and file; `sha256` is the one in the manifest, empty without a manifest."""

    number: int
    path: Path
    sha256: str = ""


def list_images(folder: Path, limit: int | None = None) -> list[ImageFile]:
    """Return the first `limit` images, numbered and ordered as in the manifest, else by file name from 1.

    Raises ClientError `bad-testset`, or `no-images` if there are none.
    """
    images = _from_manifest(folder) if has_manifest(folder) else _by_name(folder)
    if not images:
        wanted = ", ".join(suffix.removeprefix(".") for suffix in SUFFIXES)
        sentence = f"{folder}: there is no image in it ({wanted}, or a test set)"
        raise ModelError("no-images", sentence, folder=str(folder))
    return images[:limit]


def content(image: ImageFile) -> bytes:
    """Return the file's bytes. Raises ModelError `bad-image`, also if their SHA-256 differs from the manifest's."""
    try:
        data = read_regular(image.path)
    except (
        OSError,
        ValueError,
    ) as error:  # a ValueError for a name that no file can have
        raise bad_image(
            image, f"it cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from error
    if image.sha256 and hashlib.sha256(data).hexdigest() != image.sha256:
        raise bad_image(
            image, f"its SHA-256 is not the manifest's, {image.sha256[:12]}…"
        )
    return data


def digest(images: Sequence[ImageFile]) -> str:
    """Return one SHA-256 over a line "number sha256" of each image, in order; reads them all."""
    lines = hashlib.sha256()
    for image in images:
        lines.update(
            f"{image.number} {hashlib.sha256(content(image)).hexdigest()}\n".encode()
        )
    return lines.hexdigest()


def bad_image(image: ImageFile, what: str) -> ModelError:
    """Return the error for an image that cannot be used."""
    sentence = f"image {image.number} ({image.path}): {what}"
    return ModelError("bad-image", sentence, image=image.number, file=str(image.path))


def _from_manifest(folder: Path) -> list[ImageFile]:
    def parse(document: Any) -> list[ImageFile]:
        return [
            ImageFile(
                int(one["number"]),
                folder / "images" / str(one["file"]),
                str(one.get("sha256", "")),
            )
            for one in document["images"]
        ]

    images = from_manifest(folder, parse)
    if len({image.number for image in images}) < len(images):
        raise ModelError(
            "bad-testset", f"{folder / NAME}: two images have the same number"
        )
    return images


def _by_name(folder: Path) -> list[ImageFile]:
    try:
        paths = sorted(
            path for path in folder.iterdir() if path.suffix.lower() in SUFFIXES
        )
    except OSError as error:
        sentence = f"{folder}: cannot be read: {error.strerror}"
        raise ModelError("bad-testset", sentence, folder=str(folder)) from error
    return [ImageFile(number, path) for number, path in enumerate(paths, 1)]
