"""The scores of a suite's table: every test of the plan counts for every device, with 0 where it has no figures.

The tests of a published suite have sums of their own, to which other tests of the plan add nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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
    """The scores by device, of the suite and of the tests of one's own beside it.

    `notes` are sentences, without their full stops, on figures that are left out or in doubt.
    """

    scores: tuple[SuiteScore, ...]
    own_scores: tuple[SuiteScore, ...]
    notes: tuple[str, ...] = ()


def device_scores(plan: SuitePlan, rows: Sequence[SuiteRow]) -> DeviceScores:
    """Score a table by its plan.

    A row of another model file than the plan names counts as missing; one that is no test of the plan adds nothing.
    """
    planned = {(one.implementation, one.model): one for one in plan.tests}
    notes: list[str] = []
    tests = []
    for row in rows:
        test = planned.get((row.implementation, row.model))
        fault = _fault(test, row)
        if fault:
            notes.append(f"{_name(row)} is left out: {fault}")
        elif row.sentence:
            notes.append(f"{_name(row)} failed: {row.sentence}")
        elif test is not None:
            notes += _doubt(test, row)
        if not fault:
            tests.append(row.test)
            continue
        tests.append(replace(row.test, accuracy_percent=None, time_ms=None))
    notes += _doubts_of_images(planned, rows)
    notes += _doubts_of_files(rows)
    return replace(sums(plan, tests), notes=tuple(notes))


def sums(plan: SuitePlan, tests: Sequence[SuiteTest]) -> DeviceScores:
    """Return the scores of all devices in `tests`, without notes."""
    suite, own = by_origin(plan)
    own_scores = _sums(own, tests) if own.tests else ()
    return DeviceScores(_sums(suite, tests), own_scores)


def by_origin(plan: SuitePlan) -> tuple[SuitePlan, SuitePlan]:
    """Return the plan of a published suite's tests, and that of the others.

    A plan without a published suite is a suite by itself.
    """
    published = tuple(test for test in plan.tests if test.published is not None)
    own = tuple(test for test in plan.tests if test.published is None)
    if not published:
        return plan, replace(plan, tests=())
    return replace(plan, tests=published), replace(plan, tests=own)


def _sums(plan: SuitePlan, tests: Sequence[SuiteTest]) -> tuple[SuiteScore, ...]:
    given = {(one.device, one.implementation, one.model): one for one in tests}
    devices = dict.fromkeys(one.device for one in tests)
    counted = []
    for device in devices:
        for planned in plan.tests:
            key = (device, planned.implementation, planned.model)
            counted.append(given.get(key) or SuiteTest(*key, None, None))
    return scores(counted, plan.mflops)


def grouped(score: SuiteScore, plan: SuitePlan) -> str:
    """Name the tests that a score lacks, by implementation: "caffe2 (all 6), tflite_cpu (mnasnet, squeezenet)"."""
    lacking = set(score.missing)
    missing: dict[str, list[str]] = {}
    counts: Counter[str] = Counter()
    for test in plan.tests:
        name = test.implementation
        counts[name] += 1
        if f"{name} {test.model}" in lacking:
            missing.setdefault(name, []).append(test.model)
    words = []
    for name, models in missing.items():
        is_whole = len(models) == counts[name] > 1
        which = f"all {counts[name]}" if is_whole else ", ".join(models)
        words.append(f"{name} ({which})")
    return ", ".join(words)


def _name(row: SuiteRow) -> str:
    return f"{row.device}, {row.model} ({row.implementation})"


def _fault(test: PlannedTest | None, row: SuiteRow) -> str:
    """Say why a row does not count; "" if it does."""
    if test is None:
        return "it is no test of the suite"
    if test.stated.sha256 in ("", row.model_sha256):
        return ""
    return (
        f"it was measured with the model file {row.model_sha256}, but its row says "
        f"{test.stated.sha256}"
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
