"""Reads a test set's manifest: the number, file name and SHA-256 of each image."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from lpirc_client.errors import ClientError
from lpirc_client.files import read_regular
from lpirc_client.presence import is_file, is_there
from lpirc_client.wire import Category

NAME = "manifest.json"
T = TypeVar("T")


@dataclass(frozen=True)
class Image:
    """An image's number in the test set, its file below `images/`, and the file's SHA-256."""

    number: int
    file: str
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """The images and categories listed in the manifest of the test set in `folder`."""

    folder: Path
    images: tuple[Image, ...]
    categories: tuple[Category, ...]


def has_manifest(folder: Path) -> bool:
    """Return True if the folder is a test set. Raises ClientError `bad-testset` if it cannot be read."""
    try:
        return is_there(folder / NAME)
    except OSError as error:
        raise ClientError(
            "bad-testset", f"{folder / NAME}: cannot be read: {error.strerror}"
        ) from error


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a test-set folder. Raises ClientError `bad-testset`."""
    if is_file(folder) or not is_there(folder / NAME):
        sentence = f"{folder}: it is no folder of a test set: no {NAME} is in it"
        if is_there(folder.parent / NAME):
            sentence += f"; did you mean {folder.parent}?"
        raise ClientError("bad-testset", sentence)

    def parse(document: Any) -> Manifest:
        images = tuple(
            Image(int(i["number"]), str(i["file"]), str(i["sha256"]))
            for i in document["images"]
        )
        categories = tuple(
            Category(int(c["id"]), str(c["name"])) for c in document["categories"]
        )
        return Manifest(folder, images, categories)

    return from_manifest(folder, parse)


def from_manifest(folder: Path, parse: Callable[[Any], T]) -> T:
    """Return the manifest's JSON parsed by `parse`. Raises ClientError `bad-testset` if it cannot be parsed."""
    path = folder / NAME
    try:
        return parse(json.loads(read_regular(path)))
    except OSError as error:
        raise ClientError(
            "bad-testset", f"{path}: cannot be read: {error.strerror}"
        ) from error
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        RecursionError,
    ) as error:
        raise ClientError(
            "bad-testset", f"{path}: not a test set's manifest: {error!r}"
        ) from error
