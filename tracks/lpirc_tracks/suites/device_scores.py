"""The scores of a suite's table: every test of the plan counts for every device, with 0 where it has no figures."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lpirc_tracks.rules.aiotbench import SuiteScore, SuiteTest, scores
from lpirc_tracks.suites.plan_rows import PlannedTest
from lpirc_tracks.suites.suite_plan import IMAGES, SuitePlan
from lpirc_tracks.suites.suite_table import SuiteRow

LEAST_DIFFERENCE = 3.0
"""In percent points; smaller ones come from another choice of images, or another runtime's rounding."""
STANDARD_ERRORS = 4.0
LONGEST_COUNT = 10
"""Digits; a larger number of images is nobody's."""


@dataclass(frozen=True)
class DeviceScores:
    """The scores by device, and sentences, without their full stops, on figures that are left out or in doubt."""

    scores: tuple[SuiteScore, ...]
    notes: tuple[str, ...]


def device_scores(plan: SuitePlan, rows: Sequence[SuiteRow]) -> DeviceScores:
    """Score a table by its plan. A row of another model file than the plan names counts as missing.

    Raises RefereeError `unknown-flops` for a row whose model the plan does not have.
    """
    planned = {(one.implementation, one.model): one for one in plan.tests}
    notes = []
    tests = []
    for row in rows:
        test = planned.get((row.implementation, row.model))
        other_file = "" if test is None else _other_file(test, row)
        if other_file:
            notes.append(other_file)
            tests.append(replace(row.test, accuracy_percent=None, time_ms=None))
            continue
        tests.append(row.test)
        if row.sentence:
            notes.append(f"{_name(row)} failed: {row.sentence}")
        elif test is not None:
            notes += _doubt(test, row)
    notes += _doubts_of_images(planned, rows)
    notes += _doubts_of_files(rows)
    return DeviceScores(scores(with_missing(plan, tests), plan.mflops), tuple(notes))


def with_missing(plan: SuitePlan, tests: Iterable[SuiteTest]) -> list[SuiteTest]:
    """Return the tests, and for each device those of the plan that it lacks, without figures."""
    given = list(tests)
    own: dict[str, set[tuple[str, str]]] = {}
    for test in given:
        own.setdefault(test.device, set()).add((test.implementation, test.model))
    for device, names in own.items():
        given += [
            SuiteTest(device, planned.implementation, planned.model, None, None)
            for planned in plan.tests
            if (planned.implementation, planned.model) not in names
        ]
    return given


def grouped(score: SuiteScore, plan: SuitePlan) -> str:
    """Name the tests that a score lacks, whole implementations in one word: "caffe2 (all 6), tflite_cpu mnasnet"."""
    left = dict.fromkeys(score.missing)
    by_implementation: dict[str, list[str]] = {}
    for test in plan.tests:
        name = test.implementation
        by_implementation.setdefault(name, []).append(f"{name} {test.model}")
    words = []
    for name, tests in sorted(by_implementation.items()):
        if len(tests) > 1 and left.keys() >= set(tests):
            words.append(f"{name} (all {len(tests)})")
            for one in tests:
                del left[one]
    return ", ".join([*words, *left])


def _name(row: SuiteRow) -> str:
    return f"{row.device}, {row.model} ({row.implementation})"


def _other_file(test: PlannedTest, row: SuiteRow) -> str:
    if test.stated.sha256 in ("", row.model_sha256):
        return ""
    return (
        f"{_name(row)} is left out: it was measured with the model file "
        f"{row.model_sha256}, but its row says {test.stated.sha256}"
    )


def _doubt(test: PlannedTest, row: SuiteRow) -> Iterator[str]:
    """Say that an accuracy is far from the published one."""
    measured = row.test.accuracy_percent
    published = test.stated.accuracy_percent
    images = _images(row)
    if measured is None or published is None or not images:
        return
    share = published / 100
    error = 100 * math.sqrt(share * (1 - share) / images)
    if abs(measured - published) > max(LEAST_DIFFERENCE, STANDARD_ERRORS * error):
        yield (
            f"{_name(row)} has {measured:.2f} %, but {published:g} % is published; check "
            "mean, sigma, channels and the labels"
        )


def _images(row: SuiteRow) -> int:
    """Return a row's number of images, or 0 for a cell that has none."""
    is_number = row.images.isdecimal() and len(row.images) < LONGEST_COUNT
    return int(row.images) if is_number else 0


def _doubts_of_images(
    planned: Mapping[tuple[str, str], PlannedTest], rows: Sequence[SuiteRow]
) -> Iterator[str]:
    """Say that tests have more or fewer images than the benchmark, or not all of them the same ones."""
    counts: Counter[tuple[str, int]] = Counter()
    for row in rows:
        test = planned.get((row.implementation, row.model))
        if test is not None and test.published is not None:
            counts[row.device, _images(row)] += 1
    for (device, images), tests in counts.items():
        if images not in (0, IMAGES):
            many = "1 test has" if tests == 1 else f"{tests} tests have"
            yield f"{device}: {many} {images} images instead of AIoTBench's {IMAGES}"
    sets = len({row.images_sha256 for row in rows})
    if sets > 1:
        yield f"the tests were measured on {sets} different sets of images"


def _doubts_of_files(rows: Sequence[SuiteRow]) -> Iterator[str]:
    """Say that models of different names are one file."""
    by_file: dict[str, dict[str, None]] = {}
    for row in rows:
        by_file.setdefault(row.model_sha256, {})[row.model] = None
    for models in by_file.values():
        if len(models) > 1:
            yield f"{' and '.join(models)} were measured with one model file"
