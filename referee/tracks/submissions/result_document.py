"""The result document of a benched model, version 1, read without trust: it may have been made by hand.

Every fault is one sentence, RefereeError `bad-result`. Unknown keys are let be: they count for nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from referee.errors import RefereeError
from referee.tracks.submissions.result_fields import (
    Field,
    bad,
    boolean,
    field_of,
    list_of,
    number,
    one_of,
    optional,
    shown,
    text,
    whole,
)
from referee.tracks.submissions.result_predictions import detection_rows, top1_answers

LARGEST_BYTES = 256 << 20
MOST_IMAGES = 10_000_000
TOLERANCE = 1e-3  # relative: a document may round its figures
ORDERED = ("min_ms", "p50_ms", "p90_ms", "p99_ms", "max_ms")

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
    """A document that holds together. `values` is all of it; `rows` (M, 7) float64 are the detections.

    `answers` are (image, top-1 index) of a classification; the one that the task does not have is empty.
    """

    values: Mapping[str, Any]
    rows: NDArray[np.float64]
    answers: tuple[tuple[int, int], ...]

    def __getitem__(self, path: str) -> Any:
        """The value at a path such as `latency.mean_ms`."""
        return field_of(self.values, path)


def parse_result(content: bytes) -> ResultDocument:
    """Read a document. Raises RefereeError `bad-result` with the first fault."""
    values = _json(content)
    version = values.get("result_version")
    if version != 1 or isinstance(version, bool):
        raise bad(f"result_version is {shown(version)}, this program reads 1")
    for path, check in FIELDS.items():
        check(path, field_of(values, path))
    document = ResultDocument(values, np.empty((0, 7)), ())
    _check_images(document)
    _check_latency(document)
    check_energy(values)
    images, processed = document["images.count"], document["processed"]
    if document["task"] == "detection":
        rows = detection_rows(field_of(values, "predictions.rows"), processed)
        return ResultDocument(values, rows, ())
    answers = top1_answers(field_of(values, "predictions.labels"), images, processed)
    return ResultDocument(values, document.rows, answers)


def says_same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two documents tell of one measurement, however they were written down; unknown keys count for nothing."""
    answers = "predictions.rows" if one.get("task") == "detection" else "predictions.labels"
    return all(_said(one, path) == _said(other, path) for path in (*FIELDS, *ENERGY_FIELDS, answers))


def _said(values: Mapping[str, Any], path: str) -> Any:
    try:
        return field_of(values, path)
    except RefereeError:  # no energy
        return None


def check_energy(values: Mapping[str, Any]) -> None:
    """Raise RefereeError `bad-result` unless `energy` is null or one that the referee has measured."""
    if field_of(values, "energy") is not None:
        for path, check in ENERGY_FIELDS.items():
            check(path, field_of(values, path))
        loop_wh, inferences = (field_of(values, f"energy.{name}") for name in ("loop_wh", "inferences"))
        each_wh = field_of(values, "energy.inference_wh")
        if not _is_near(each_wh * inferences, loop_wh):
            raise bad(
                f"energy.inference_wh = {each_wh} is not loop_wh / inferences = {loop_wh / inferences:g}"
            )


def _json(content: bytes) -> dict[str, Any]:
    if len(content) > LARGEST_BYTES:
        raise bad(f"it has {len(content)} bytes, more than {LARGEST_BYTES}")

    def refuse_constant(word: str) -> float:
        raise bad(f"it holds {word}, which is not a number of JSON")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            (name, _), *_ = Counter(name for name, _ in pairs).most_common(1)
            raise bad(f"the key {shown(name)} is given twice")
        return found

    try:
        values = json.loads(content, parse_constant=refuse_constant, object_pairs_hook=unique)
    except (ValueError, RecursionError) as error:  # no JSON, no UTF-8, or a monstrous number
        raise bad(f"it is not JSON ({error})") from error
    if not isinstance(values, dict):
        raise bad("it is not a JSON object")
    failed = values.get("error")
    if isinstance(failed, dict):
        raise bad(f"it tells of a bench that failed: {shown(failed.get('sentence'))}")
    return values


def _check_latency(document: ResultDocument) -> None:
    """Figures that contradict each other were not measured together."""
    figures = [(name, document[f"latency.{name}"]) for name in ORDERED]
    for (low, low_value), (high, high_value) in pairwise(figures):
        if low_value > high_value:
            raise bad(f"latency.{low} = {low_value} is above latency.{high} = {high_value}")
    mean_ms, counted = document["latency.mean_ms"], document["latency.counted"]
    _require_between("mean_ms", mean_ms, "min_ms and max_ms", figures[0][1], figures[-1][1])
    means_ms = document["latency.repeat_means_ms"]
    if not 1 <= len(means_ms) <= document["settings.repeats"]:
        raise bad(
            f"latency.repeat_means_ms has {len(means_ms)} means of {document['settings.repeats']} repeats"
        )
    _require_between("mean_ms", mean_ms, "the repeat_means_ms", min(means_ms), max(means_ms))
    least, most = document["processed"] - 1, len(means_ms) * (document["images.count"] - 1)
    if not least <= counted <= most:
        raise bad(
            f"latency.counted = {counted} is not from {least} to {most}, as processed and repeats make it"
        )
    total_s, pass_s = document["latency.total_s"], means_ms[0] * least / 1000
    if not _is_near(total_s, pass_s):
        raise bad(f"latency.total_s = {total_s} is not what the first pass makes, {pass_s:g} s")
    _check_span(document, total_s)


def _check_span(document: ResultDocument, total_s: float) -> None:
    start_s, end_s = document["timed.start_monotonic_s"], document["timed.end_monotonic_s"]
    if end_s - start_s < total_s * (1 - TOLERANCE):
        raise bad(f"timed has {end_s - start_s:g} s, less than latency.total_s = {total_s}")


def _require_between(name: str, value: float, of: str, least: float, most: float) -> None:
    if not least * (1 - TOLERANCE) <= value <= most * (1 + TOLERANCE):
        raise bad(f"latency.{name} = {value} does not lie between {of}, {least} and {most}")


def _is_near(value: float, other: float) -> bool:
    return abs(value - other) <= TOLERANCE * max(value, other)


def _check_images(document: ResultDocument) -> None:
    count, processed = document["images.count"], document["processed"]
    if processed > count:
        raise bad(f"processed = {processed} is more than images.count = {count}")
    if (processed < count) != (document["stopped_by"] == "budget"):
        raise bad(f"processed = {processed} of {count} images, but stopped_by is {document['stopped_by']!r}")
