"""Replay: answers the referee's images with recorded detections.

The referee may renumber the images secretly in each run. With the test set at hand the client recognizes a fetched
image by its SHA-256 and posts its recorded rows under the referee's number; without it, the numbers in the recording
count as the referee's. If several images of the set have the same bytes, the first fetched gets the rows of the first
in the set, and so on.
"""

from __future__ import annotations

import hashlib
from collections import deque
from pathlib import Path, PurePosixPath
from typing import Callable, Iterable, List, Mapping, Tuple

from lpirc_client.errors import AnswerError, ClientError
from lpirc_client.manifest import Manifest, read_manifest
from lpirc_client.recorded_rows import Recording, Values, category_ids, read, whole
from lpirc_client.run import Answer
from lpirc_client.wire import Login

Recorded = Mapping[int, List[Tuple[str, Values]]]
"""Rows by image number: (text that names the category, its five numbers)."""

Rows = List[Tuple[float, ...]]
"""category id, confidence, xmin, ymin, xmax, ymax."""


def prepare(file: Path, testset: Path | None) -> Callable[[Login], Answer]:
    """Read the recording and check everything possible before login; return the function to call with the login.

    The returned function raises AnswerError if recording and contest do not match.
    """
    recording = read(file)
    if not recording.rows:
        sentence = f"{file}: it holds no detections, so a run would have the accuracy 0"
        raise ClientError("bad-recording", sentence)
    if testset is None:
        by_number = _group(recording, _referee_numbers(recording))
        return lambda login: _by_number(recording, by_number, login)
    manifest = read_manifest(testset)
    category_ids(recording, manifest.categories)
    by_number = _group(recording, _set_numbers(recording, manifest))
    return lambda login: _by_content(recording, by_number, manifest, login)


def _by_number(
    recording: Recording,
    recorded: Recorded,
    login: Login,
) -> Answer:
    categories = category_ids(recording, login.categories)
    for text, line in recording.image_lines.items():
        if not 1 <= (whole(text) or 0) <= login.images:
            sentence = f"{recording.path}, line {line}: image {text!r} is not in 1..{login.images}"
            raise AnswerError("unknown-image", sentence)
    return lambda number, _: _rows(recorded.get(number, ()), categories)


def _by_content(
    recording: Recording,
    recorded: Recorded,
    manifest: Manifest,
    login: Login,
) -> Answer:
    categories = category_ids(recording, login.categories)
    if (
        len(manifest.images) < login.images
    ):  # a contest may give each run a part of the set
        sentence = f"{manifest.folder} has {len(manifest.images)} images, the contest {login.images}"
        raise AnswerError("other-testset", sentence)
    unused: dict[str, deque[int]] = {}
    for image in manifest.images:
        unused.setdefault(image.sha256, deque()).append(image.number)

    def answer(number: int, jpeg: bytes) -> Rows:
        numbers = unused.get(hashlib.sha256(jpeg).hexdigest())
        if not numbers:
            raise AnswerError(
                "unknown-image",
                f"the referee's image {number} is not in {manifest.folder}",
            )
        return _rows(recorded.get(numbers.popleft(), ()), categories)

    return answer


def _rows(found: Iterable[tuple[str, Values]], categories: Mapping[str, int]) -> Rows:
    return [(categories[category], *values) for category, values in found]


def _group(recording: Recording, numbers: Mapping[str, int]) -> Recorded:
    """Return the rows by image number; several texts may name one image."""
    grouped: dict[int, list[tuple[str, Values]]] = {}
    for text, rows in recording.rows.items():
        grouped.setdefault(numbers[text], []).extend(rows)
    return grouped


def _referee_numbers(recording: Recording) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for text, line in recording.image_lines.items():
        number = whole(text)
        if number is None:
            what = f"image {text!r} is a name; give the test set: --testset DIR"
            raise ClientError(
                "name-without-testset", f"{recording.path}, line {line}: {what}"
            )
        numbers[text] = number
    return numbers


def _set_numbers(recording: Recording, manifest: Manifest) -> dict[str, int]:
    """Return the test set's number for each image text of the recording. Raises ClientError for an unknown one.

    A text is a file name, a number, or a file name without its suffix. It is ambiguous if it is the number of one image
    and the name of another.
    """
    known = {image.number for image in manifest.images}
    files = _numbers_by_name(manifest, with_suffix=True)
    stems = _numbers_by_name(manifest, with_suffix=False)
    numbers: dict[str, int] = {}
    for text, line in recording.image_lines.items():
        candidates = set(files.get(text) or stems.get(text) or ())
        number = whole(text)
        # "000012" is a name before it is a number
        if (
            number in known
            and number is not None
            and not (candidates and text.startswith("0"))
        ):
            candidates.add(number)
        if len(candidates) != 1:
            raise _unclear(
                f"{recording.path}, line {line}: image {text!r}", candidates, manifest
            )
        numbers[text] = candidates.pop()
    return numbers


def _numbers_by_name(manifest: Manifest, *, with_suffix: bool) -> dict[str, set[int]]:
    """Return the numbers of the images with each name: the file's path and the path's last part."""
    numbers: dict[str, set[int]] = {}
    for image in manifest.images:
        path = (
            PurePosixPath(image.file)
            if with_suffix
            else PurePosixPath(image.file).with_suffix("")
        )
        for name in (str(path), path.name):
            numbers.setdefault(name, set()).add(image.number)
    return numbers


def _unclear(
    where: str,
    candidates: set[int],
    manifest: Manifest,
) -> ClientError:
    if not candidates:
        return ClientError(
            "unknown-image",
            f"{where} is not a number or file of the test set {manifest.folder}",
        )
    what = f"may be number {' or '.join(map(str, sorted(candidates)))} of the test set"
    return ClientError(
        "ambiguous-image", f"{where} {what}; write file names, with suffix and folder"
    )
