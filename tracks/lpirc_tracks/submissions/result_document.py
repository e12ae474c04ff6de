"""The result document of a benched model, version 1, or the short document of any other program. Pure.

Both are fully checked, since they may be made by hand. Every fault is one sentence in ModelFault `bad-result`. Unknown
keys are ignored.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpirc_testsets.values import of_version, shown
from lpirc_tracks.submissions.document_fields import (
    Field,
    bad,
    boolean,
    field_of,
    is_number,
    list_of,
    number,
    one_of,
    optional,
    text,
    whole,
)
from referee.errors import ModelFault

LARGEST_BYTES = 256 << 20
MOST_IMAGES = 10_000_000
TOLERANCE = 1e-3  # relative: a document may round its figures
ORDERED = ("min_ms", "p50_ms", "p90_ms", "p99_ms", "max_ms")
MOST_ROWS_BY_IMAGE = 100
LARGEST_CATEGORY = 1_000_000
LARGEST_INDEX = 1000
LARGEST_PIXEL = 1e9
COLUMNS = ("image", "category", "confidence", "xmin", "ymin", "xmax", "ymax")

FIELDS: Mapping[str, Field] = {
    "task": one_of("detection", "classification"),
    "preprocessing": one_of("resize", "central-crop", "central-square"),
    "model.file": text,
    "model.sha256": text,
    "images.count": whole(2, MOST_IMAGES),  # the first one is warm-up
    "images.sha256": text,
    "settings.threads": whole(1, 1024),
    "settings.core": optional(whole(0, 100_000)),
    "settings.budget_s": optional(number(0)),
    "settings.repeats": whole(1, 1_000_000),
    "processed": whole(2, MOST_IMAGES),
    "stopped_by": one_of("end", "budget"),
    "latency.mean_ms": number(1e-6),
    "latency.sd_ms": number(0),
    "latency.p50_ms": number(0),
    "latency.p90_ms": number(0),
    "latency.p99_ms": number(0),
    "latency.min_ms": number(0),
    "latency.max_ms": number(0),
    "latency.counted": whole(1, 10**12),
    "latency.first_ms": number(0),
    "latency.total_s": number(1e-9),
    "latency.repeat_means_ms": list_of(number(0)),
    "latency.is_stable": boolean,
    "device.host": text,
    "device.machine": text,
    "device.runtime": text,
    "device.runtime_version": text,
    "started_utc": text,
    "timed.start_monotonic_s": number(0),
    "timed.end_monotonic_s": number(0),
}

ADDED_FIELDS: Mapping[str, Field] = {
    "latency.processor_share": number(0),
    "latency.load_ms": number(0),
    "confinement.confined": boolean,
    "confinement.reason": text,
}  # which documents of earlier programs lack

ELSEWHERE = "elsewhere_version"
ELSEWHERE_FIELDS: Mapping[str, Field] = {
    "task": FIELDS["task"],
    "images.count": FIELDS["images.count"],
    "images.sha256": text,
    "latency.mean_ms": FIELDS["latency.mean_ms"],
    "latency.counted": FIELDS["latency.counted"],
    "device.name": text,
    "runtime": text,
}  # of a document made by another program, or by hand

ENERGY_FIELDS: Mapping[str, Field] = {
    "energy.meter": text,
    "energy.official": boolean,
    "energy.inferences": whole(1, 10**12),
    "energy.loop_s": number(1e-9),
    "energy.loop_wh": number(1e-12),
    "energy.inference_wh": number(1e-15),
    "energy.inference_j": number(1e-12),
    "energy.mean_power_w": number(1e-9),
    "energy.idle_power_w": optional(number(0)),
}


@dataclass(frozen=True, eq=False)
class ResultDocument:
    """A consistent document: `values` is all of it, and `rows` (M, 7) float64 are the detections.

    `answers` are the (image, top-1 index) pairs of a classification. `rows` or `answers` is empty, depending on the
    task.
    """

    values: Mapping[str, Any]
    rows: NDArray[np.float64]
    answers: tuple[tuple[int, int], ...]

    @property
    def is_elsewhere(self) -> bool:
        """Return True if a program other than the harness made the document."""
        return ELSEWHERE in self.values

    def __getitem__(self, path: str) -> Any:
        """Return the value at a path such as `latency.mean_ms`."""
        return field_of(self.values, path)

    def get(self, path: str) -> Any:
        """Return the value at a path, or None."""
        return _found(self.values, path)


def parse_result(content: bytes) -> ResultDocument:
    """Read a document. Raises ModelFault `bad-result` for the first fault."""
    values = _json(content)
    if ELSEWHERE in values:
        return _elsewhere(values)
    version = values.get("result_version")
    if version != 1 or isinstance(version, bool):
        raise bad(of_version("result_version", version, 1))
    for path, check in FIELDS.items():
        check(path, field_of(values, path))
    document = ResultDocument(values, np.empty((0, len(COLUMNS))), ())
    for path, check in ADDED_FIELDS.items():
        optional(check)(path, document.get(path))
    images, processed, stopped_by = (
        document[path] for path in ("images.count", "processed", "stopped_by")
    )
    if processed > images:
        raise bad(f"processed = {processed} is more than images.count = {images}")
    if (processed < images) != (stopped_by == "budget"):
        raise bad(
            f"processed = {processed} of {images} images, but stopped_by is {stopped_by!r}"
        )
    _check_latency(document)
    _check_energy(values)
    if document["task"] == "detection":
        return replace(
            document, rows=_detection_rows(document["predictions.rows"], processed)
        )
    return replace(
        document,
        answers=_top1_answers(document["predictions.labels"], images, processed),
    )


def _elsewhere(given: Mapping[str, Any]) -> ResultDocument:
    """Read the document of another program, and derive the fields that it does not have.

    The answers cover all images; for a classification, as many as the document has labels.
    """
    if type(given[ELSEWHERE]) is not int or given[ELSEWHERE] != 1:
        raise bad(of_version(ELSEWHERE, given[ELSEWHERE], 1))
    for path, check in ELSEWHERE_FIELDS.items():
        check(path, field_of(given, path))
    images = given["images"]["count"]
    mean_ms = given["latency"]["mean_ms"]
    rows = np.empty((0, len(COLUMNS)))
    answers = tuple[tuple[int, int], ...]()
    processed = images
    if given["task"] == "detection":
        rows = _detection_rows(field_of(given, "predictions.rows"), images)
    else:
        labels = field_of(given, "predictions.labels")
        processed = len(labels) if isinstance(labels, list) else images
        FIELDS["processed"]("the number of predictions.labels", processed)
        answers = _top1_answers(labels, images, processed)
    kept = {
        key: given[key]
        for key in (ELSEWHERE, "task", "images", "runtime", "predictions")
    }
    kept |= {
        "device": {"name": given["device"]["name"], "host": given["device"]["name"]},
        "energy": None,
    }
    latency = {
        "mean_ms": mean_ms,
        "counted": given["latency"]["counted"],
        "max_ms": None,
    }
    latency |= {"total_s": mean_ms * processed / 1000, "repeat_means_ms": [mean_ms]}
    return ResultDocument(
        kept | {"processed": processed, "latency": latency}, rows, answers
    )


def says_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return True if two documents state the same measurement, whatever their format; unknown keys are ignored."""
    answers = (
        "predictions.rows" if one.get("task") == "detection" else "predictions.labels"
    )
    figures = (
        tuple(ELSEWHERE_FIELDS) if ELSEWHERE in other else (*FIELDS, *ENERGY_FIELDS)
    )
    return all(_found(one, path) == _found(other, path) for path in (*figures, answers))


def _found(values: Mapping[str, Any], path: str) -> Any:
    try:
        return field_of(values, path)
    except ModelFault:
        return None


def _check_energy(values: Mapping[str, Any]) -> None:
    energy = field_of(values, "energy")
    if energy is None:
        return
    for path, check in ENERGY_FIELDS.items():
        check(path, field_of(values, path))
    each_wh = energy["inference_wh"]
    expected_wh = energy["loop_wh"] / energy["inferences"]
    if not _is_near(each_wh, expected_wh):
        raise bad(
            f"energy.inference_wh = {each_wh} is not loop_wh / inferences = {expected_wh:g}"
        )


def _json(content: bytes) -> dict[str, Any]:
    if len(content) > LARGEST_BYTES:
        raise bad(f"it has {len(content)} bytes, more than {LARGEST_BYTES}")

    def refuse_constant(word: str) -> float:
        raise bad(f"it holds {word}, which is not a JSON number")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            (name, _), *_ = Counter(name for name, _ in pairs).most_common(1)
            raise bad(f"the key {shown(name)} is given twice")
        return found

    try:
        values = json.loads(
            content, parse_constant=refuse_constant, object_pairs_hook=unique
        )
    except (
        ValueError,
        RecursionError,
    ) as error:  # not JSON, not UTF-8, or a number of too many digits
        raise bad(f"it is not JSON ({error})") from error
    if not isinstance(values, dict):
        raise bad("it is not a JSON object")
    failed = values.get("error")
    if isinstance(failed, dict):
        raise bad(f"it reports a bench that failed: {shown(failed.get('sentence'))}")
    return values


def _check_latency(document: ResultDocument) -> None:
    """Raise ModelFault unless the latency figures are consistent."""
    figures = [(name, document[f"latency.{name}"]) for name in ORDERED]
    for (low, low_value), (high, high_value) in pairwise(figures):
        if low_value > high_value:
            raise bad(
                f"latency.{low} = {low_value} is above latency.{high} = {high_value}"
            )
    mean_ms = document["latency.mean_ms"]
    counted = document["latency.counted"]
    _require_between(mean_ms, "min_ms and max_ms", figures[0][1], figures[-1][1])
    means_ms = document["latency.repeat_means_ms"]
    if not 1 <= len(means_ms) <= document["settings.repeats"]:
        repeats = document["settings.repeats"]
        raise bad(
            f"latency.repeat_means_ms has {len(means_ms)} means, but there were {repeats} repeats"
        )
    _require_between(mean_ms, "the repeat_means_ms", min(means_ms), max(means_ms))
    least = document["processed"] - 1
    most = len(means_ms) * (document["images.count"] - 1)
    if not least <= counted <= most:
        raise bad(
            f"latency.counted = {counted} must be {least} to {most}, given processed and repeats"
        )
    total_s = document["latency.total_s"]
    pass_s = means_ms[0] * least / 1000
    if not _is_near(total_s, pass_s):
        raise bad(
            f"latency.total_s = {total_s} is not the time of the first pass, {pass_s:g} s"
        )
    timed_s = document["timed.end_monotonic_s"] - document["timed.start_monotonic_s"]
    if timed_s < total_s * (1 - TOLERANCE):
        raise bad(
            f"the interval in `timed` is {timed_s:g} s, less than latency.total_s = {total_s}"
        )


def _require_between(mean_ms: float, ends: str, least: float, most: float) -> None:
    if not least * (1 - TOLERANCE) <= mean_ms <= most * (1 + TOLERANCE):
        raise bad(
            f"latency.mean_ms = {mean_ms} does not lie between {ends}, {least} and {most}"
        )


def _is_near(value: float, other: float) -> bool:
    return abs(value - other) <= TOLERANCE * max(value, other)


def _detection_rows(rows: Any, processed: int) -> NDArray[np.float64]:
    """Return rows (M, 7) image, category, confidence, xmin, ymin, xmax, ymax of images 1..`processed`.

    Raises ModelFault `bad-result` for a row that is not seven finite numbers, for an image beyond `processed`, for a
    category below 1, and for more than a hundred rows of an image.
    """
    if not isinstance(rows, list):
        raise bad(f"predictions.rows = {shown(rows)} is not a list")
    for place, row in enumerate(rows):
        if not (
            isinstance(row, list)
            and len(row) == len(COLUMNS)
            and all(map(_is_pixel, row))
        ):
            raise bad(
                f"predictions.rows[{place}] = {shown(row)} is not seven finite numbers"
            )
    table = np.array(rows, dtype=np.float64).reshape(-1, len(COLUMNS))
    _require_whole(table, 0, processed)
    _require_whole(table, 1, LARGEST_CATEGORY)
    images, counts = np.unique(table[:, 0], return_counts=True)
    if len(images) and counts.max() > MOST_ROWS_BY_IMAGE:
        worst = int(np.argmax(counts))
        raise bad(
            f"image {images[worst]:g} has {counts[worst]} rows, more than {MOST_ROWS_BY_IMAGE}"
        )
    return table


def _top1_answers(
    labels: Any, images: int, processed: int
) -> tuple[tuple[int, int], ...]:
    """Return the answers (image, index 0..1000): `processed` of them, for images in 1..`images`.

    Raises ModelFault `bad-result`.
    """
    if not isinstance(labels, list):
        raise bad(f"predictions.labels = {shown(labels)} is not a list")
    if len(labels) != processed:
        raise bad(
            f"predictions.labels has {len(labels)} answers, processed is {processed}"
        )
    found: dict[int, int] = {}
    for place, one in enumerate(labels):
        where = f"predictions.labels[{place}]"
        if not (isinstance(one, list) and len(one) == 3 and _is_pixel(one[2])):
            raise bad(
                f"{where} = {shown(one)} is not an image, an index and a finite number"
            )
        image, index, _ = one
        if type(image) is not int or not 1 <= image <= images:
            raise bad(
                f"{where}: image {shown(image)} is not a whole number from 1 to {images}"
            )
        if type(index) is not int or not 0 <= index <= LARGEST_INDEX:
            raise bad(
                f"{where}: index {shown(index)} is not a whole number from 0 to {LARGEST_INDEX}"
            )
        if image in found:
            raise bad(f"{where}: image {image} is answered twice")
        found[image] = index
    return tuple(found.items())


def _require_whole(table: NDArray[np.float64], column: int, most: int) -> None:
    values = table[:, column]
    wrong = np.flatnonzero(
        (values != np.floor(values)) | (values < 1) | (values > most)
    )
    if len(wrong):
        what = f"predictions.rows[{wrong[0]}]: {COLUMNS[column]} {values[wrong[0]]:g}"
        raise bad(f"{what} is not a whole number from 1 to {most}")


_is_pixel = partial(is_number, largest=LARGEST_PIXEL)
