"""Makes smaller test sets from one: parts with an even share of each category, or a selection of its images."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lpirc_testsets.class_labels import labels_csv, read_labels
from lpirc_testsets.close_names import did_you_mean
from lpirc_testsets.errors import Reports, TestSetError
from lpirc_testsets.folder import MANIFEST, TestSet
from lpirc_testsets.set_building import SourceImage, build_test_set
from lpirc_testsets.truth_records import info_of_part, records_of, truth_of
from lpirc_testsets.values import shown

NAMED = 10
"""Categories in one sentence."""


def contents(test_set: TestSet) -> NDArray[np.int64]:
    """Return the number of objects of each category in each image (N, K). Raises TestSetError as `truth_of` does."""
    truth = truth_of(test_set)
    counts = np.zeros((len(truth.image_ids), len(truth.category_ids)), np.int64)
    places = np.searchsorted(truth.category_ids, truth.category)
    np.add.at(counts, (np.searchsorted(truth.image_ids, truth.image), places), 1)
    return counts


def stratified(
    counts: NDArray[np.int64],
    sizes: Sequence[int],
    order: Sequence[int],
) -> list[list[int]]:
    """Deal images, the rows of `counts` (N, K), into parts of the given sizes, which add up to N; return the rows.

    Iterative stratification (Sechidis, Tsoumakas and Vlahavas 2011): starting with the rarest category, each image goes
    to the part that lacks the largest share of that category's objects, then of its images. `order` (N) breaks ties.
    Only integers are used, so the result is the same on every machine.
    """
    left = counts.sum(axis=0)
    lacking = np.outer(np.array(sizes, np.int64), left)
    free = list(sizes)
    parts = [list[int]() for _ in sizes]
    waiting = dict.fromkeys(order)
    weights = [math.lcm(*sizes) // size for size in sizes]

    def deal(row: int, category: int | None) -> None:
        lack = free if category is None else lacking[:, category].tolist()
        able = [part for part in range(len(sizes)) if free[part]]
        part = max(
            able,
            key=lambda one: (lack[one] * weights[one], free[one] * weights[one], -one),
        )
        lacking[part] -= counts[row] * len(counts)
        free[part] -= 1
        parts[part].append(row)
        left[:] -= counts[row]
        del waiting[row]

    while left.any():
        rarest = int(np.argmin(np.where(left > 0, left, left.max() + 1)))
        for row in [row for row in waiting if counts[row, rarest]]:
            deal(row, rarest)
    for row in list(waiting):
        deal(row, None)
    return [sorted(part) for part in parts]


def drawn_order(
    test_set: TestSet,
    seed: int,
    rows: Collection[int],
) -> list[int]:
    """Return the rows in an order that depends only on the seed and the bytes of the images."""
    return sorted(
        rows,
        key=lambda row: hashlib.sha256(
            f"{seed} {test_set.images[row].sha256}".encode()
        ).digest(),
    )


def split(
    test_set: TestSet,
    shares: Sequence[int],
    seed: int,
) -> list[list[int]]:
    """Return the rows (image number - 1) of each part; `shares` may be in any unit.

    Raises TestSetError `bad-selection`.
    """
    count = len(test_set.images)
    edges = [count * sum(shares[:end]) // sum(shares) for end in range(len(shares) + 1)]
    sizes = np.diff(edges).tolist()
    if 0 in sizes:
        raise TestSetError(
            "bad-selection",
            f"{test_set.folder}: {count} images are too few for this split",
        )
    return stratified(
        contents(test_set), sizes, drawn_order(test_set, seed, range(count))
    )


def _categories(names: Sequence[str]) -> str:
    """Return the first names, quoted as in a message."""
    if not names:
        return "it has none"
    listed = ", ".join(map(shown, names[:NAMED]))
    more = len(names) - NAMED
    return f"its categories are {listed}" + (f" and {more} more" if more > 0 else "")


def subset(
    test_set: TestSet,
    images: int | None,
    only: Collection[str],
    wanted: Collection[str],
    seed: int,
) -> list[int]:
    """Choose images that match `only` and `wanted`: a stratified selection of `images`, or all if that is None.

    `only` has files or source ids, `wanted` names of categories of which an image must contain one. If either is empty,
    it restricts nothing. Returns rows, ascending. Raises TestSetError `bad-selection`.
    """
    known = {
        name: row
        for row, one in enumerate(test_set.images)
        for name in (one.source_id, one.file)
    }
    if unknown := set(only) - known.keys():
        sentence = (
            f"it has no image {shown(min(unknown))}; give its file name or source id"
        )
        raise TestSetError("bad-selection", f"{test_set.folder}: {sentence}")
    names = [one.name for one in test_set.categories]
    if unknown := set(wanted) - set(names):
        first = min(unknown)
        meant = did_you_mean(first, names)
        sentence = f"it has no category {shown(first)}; {_categories(names)}"
        if meant:
            sentence += f".{meant}"
        raise TestSetError("bad-selection", f"{test_set.folder}: {sentence}")
    rows = sorted({known[name] for name in only} or range(len(test_set.images)))
    counts = contents(test_set)
    if wanted:
        columns = [
            place for place, one in enumerate(test_set.categories) if one.name in wanted
        ]
        counts = counts[:, columns]
        rows = [row for row in rows if counts[row].any()]
    if not 0 < (images or 1) <= len(rows):
        raise TestSetError(
            "bad-selection",
            f"{test_set.folder}: {images or 1} images are wanted, {len(rows)} can be chosen",
        )
    if images is None or images == len(rows):
        return rows
    place = {row: at for at, row in enumerate(rows)}
    order = [place[row] for row in drawn_order(test_set, seed, rows)]
    chosen, _ = stratified(counts[rows], [images, len(rows) - images], order)
    return [rows[at] for at in chosen]


def write_selection(
    test_set: TestSet,
    rows: Sequence[int],
    out: Path,
    reports: Reports,
    wanted: Collection[str] = (),
) -> TestSet:
    """Copy the images of these rows, renumbered from 1, with their objects into the new folder `out`.

    Categories keep their ids. If `wanted` is given, only those categories and their objects are kept. Raises
    TestSetError as an import does, also for an image that changed since the set was made.
    """
    if Path(os.path.realpath(out)).is_relative_to(os.path.realpath(test_set.folder)):
        raise TestSetError(
            "bad-selection",
            f"{out}: this folder would lie in the test set {test_set.folder}; choose another one",
        )
    chosen = [test_set.images[row] for row in rows]
    numbers = {one.number: number for number, one in enumerate(chosen, start=1)}
    of = test_set.image_path
    origin = test_set.folder / MANIFEST
    sources = [
        SourceImage(
            of(i.number),
            i.file,
            (i.width, i.height),
            i.source_id,
            origin,
            i.sha256,
        )
        for i in chosen
    ]
    if test_set.has_labels:
        labels = read_labels(test_set).by_image
        of_files = {test_set.images[row].file: int(labels[row]) for row in rows}
        return build_test_set(
            out,
            sources,
            (),
            (),
            reports,
            labels_csv(of_files),
        )
    categories = [
        one for one in test_set.categories if not wanted or one.name in wanted
    ]
    ids = {one.id for one in categories}
    records = [
        replace(one, image=numbers[one.image])
        for one in records_of(test_set)
        if one.image in numbers and one.category in ids
    ]
    if not records and test_set.objects:
        reports.problems.add(
            f"{out}: no objects in any of the images of this part",
            remedy="choose more images",
        )
    return build_test_set(
        out,
        sources,
        categories,
        records,
        reports,
        info=info_of_part(test_set, [image.sha256 for image in chosen]),
    )
