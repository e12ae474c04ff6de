"""Replay: answer the referee's images with recorded detections.

The referee may number the images of each run anew, secretly. With the test set at hand a fetched image is
known by its SHA-256, and its recorded rows go out under the number that the referee used; without it, the
numbers in the recording are taken for the referee's. Where several images of the set have the same bytes,
the first fetched gets the rows of the first in the set, and so on.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from lpirc_client.errors import AnswerError, ClientError
from lpirc_client.manifest import Manifest, images_of, read_manifest
from lpirc_client.recording import Recording, Values, category_ids, read, whole
from lpirc_client.run import Answer
from lpirc_client.wire import Login, Row

Recorded = Mapping[int, list[tuple[str, Values]]]
"""By image number: (the category's text, its five numbers)."""


def prepare(file: Path, testset: Path | None) -> Callable[[Login], Answer]:
    """Read the recording and all that can be checked before login; return what to do with the login.

    What it returns raises AnswerError when recording and contest do not go together.
    """
    recording = read(file)
    if testset is None:
        by_number = _group(recording, _referee_numbers(recording))
        return lambda login: _by_number(recording, by_number, login)
    manifest = read_manifest(testset)
    category_ids(recording, manifest.categories)
    by_number = _group(recording, images_of(recording, manifest))
    return lambda login: _by_content(recording, by_number, manifest, login)


def _by_number(recording: Recording, recorded: Recorded, login: Login) -> Answer:
    categories = category_ids(recording, login.categories)
    for text, line in recording.image_lines.items():
        if not 1 <= (whole(text) or 0) <= login.images:
            raise AnswerError(
                "unknown-image", f"{recording.path}, line {line}: image {text!r} is not in 1..{login.images}"
            )
    return lambda number, _: _rows(number, recorded.get(number, ()), categories)


def _by_content(recording: Recording, recorded: Recorded, manifest: Manifest, login: Login) -> Answer:
    categories = category_ids(recording, login.categories)
    if len(manifest.images) != login.images:
        raise AnswerError(
            "other-testset",
            f"{manifest.folder} has {len(manifest.images)} images, the contest {login.images}",
        )
    unused: dict[str, deque[int]] = {}
    for image in manifest.images:
        unused.setdefault(image.sha256, deque()).append(image.number)

    def answer(number: int, jpeg: bytes) -> list[Row]:
        numbers = unused.get(hashlib.sha256(jpeg).hexdigest())
        if not numbers:
            raise AnswerError("unknown-image", f"the referee's image {number} is not in {manifest.folder}")
        return _rows(number, recorded.get(numbers.popleft(), ()), categories)

    return answer


def _rows(number: int, found: Iterable[tuple[str, Values]], categories: Mapping[str, int]) -> list[Row]:
    return [(number, categories[category], *values) for category, values in found]


def _group(recording: Recording, numbers: Mapping[str, int]) -> Recorded:
    """Return the rows by image number; one image may go by several texts."""
    grouped: dict[int, list[tuple[str, Values]]] = {}
    for text, rows in recording.rows.items():
        grouped.setdefault(numbers[text], []).extend(rows)
    return grouped


def _referee_numbers(recording: Recording) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for text, line in recording.image_lines.items():
        number = whole(text)
        if number is None:
            raise ClientError(
                "name-without-testset",
                f"{recording.path}, line {line}: image {text!r} is a name; give the test set: --testset DIR",
            )
        numbers[text] = number
    return numbers
