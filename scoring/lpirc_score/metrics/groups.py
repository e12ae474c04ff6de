"""Objects and detections by category and image; a group is all those with the same category and image."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lpirc_score.errors import CodedError
from lpirc_score.metrics.detection_columns import Detections
from lpirc_score.metrics.ordering import ascending_codes, by_digits, descending
from lpirc_testsets.ground_truth import GroundTruth

Ints = NDArray[np.int64]
Codes = NDArray[np.signedinteger]
"""Category index x number of images + image index: int32 if that holds all of them, else int64."""

_WIDEST_SPAN = 1 << 21
_BATCH = 1 << 18
_AT_ONCE = 1 << 16
"""Rows whose temporary arrays stay in the processor's cache."""


@dataclass(frozen=True, eq=False)
class Ids:
    """The ids (N,) of a set, ascending, and the lookup from an id to its index 0..N - 1."""

    ids: Ints
    what: str

    def places(self, wanted: Ints) -> Ints:
        """Return the indices (M,) of ids (M,). Raises `CodedError` `unknown-image` or `unknown-category`."""
        if not len(wanted):
            return np.zeros(0, np.int64)
        first = 0
        last = -1
        if len(self.ids):
            first = int(self.ids[0])
            last = int(self.ids[-1])
        if wanted.min() < first or wanted.max() > last:
            self._refuse((wanted < first) | (wanted > last), wanted)
        if last - first < _WIDEST_SPAN:
            table = np.full(last - first + 1, -1, np.int32)
            table[self.ids - first] = np.arange(len(self.ids))
            places = np.empty(len(wanted), np.int64)
            for at in range(0, len(wanted), _AT_ONCE):
                part = slice(at, at + _AT_ONCE)
                places[part] = table.take(wanted[part] - first)
        else:
            places = np.searchsorted(self.ids, wanted)
            places[self.ids.take(places) != wanted] = -1
        if places.min() < 0:
            self._refuse(places < 0, wanted)
        return places

    def _refuse(
        self,
        unknown: NDArray[np.bool_],
        wanted: Ints,
    ) -> None:
        first = int(wanted[np.argmax(unknown)])
        raise CodedError(
            f"unknown-{self.what}",
            f"The ground truth has no {self.what} {first}.",
            id=first,
        )


@dataclass(frozen=True, eq=False)
class Groups:
    """The objects that count, sorted by category, then image, then order in the source.

    `objects` (G,) are their indices in the ground truth. Group k has the code `keys[k]` = category index x number of
    images + image index, and holds the sorted objects `starts[k]` .. `starts[k + 1] - 1`.
    """

    images: Ids
    categories: Ids
    objects: Ints
    starts: Ints
    keys: Codes
    blacklisted: Codes

    def counts(self, which: NDArray[np.bool_]) -> Ints:
        """Return how many objects `which` (G,), in sorted order, marks in each category (K,)."""
        categories = self.keys // max(len(self.images.ids), 1)
        places = np.repeat(categories, np.diff(self.starts))
        return np.bincount(places[which], minlength=len(self.categories.ids))

    def of_categories(
        self,
        first: int,
        last: int,
    ) -> slice:
        """Return the groups of the categories with the indices `first` .. `last - 1`."""
        ends = np.array([first, last], self.keys.dtype) * len(self.images.ids)
        low, high = np.searchsorted(self.keys, ends).tolist()
        return slice(low, high)


def group_objects(
    ground_truth: GroundTruth,
    counted: NDArray[np.bool_],
    blacklist: Iterable[tuple[int, int]],
) -> Groups:
    """Group the `counted` (M,) objects of a ground truth, without blacklisted (image, category) ids."""
    images = Ids(ground_truth.image_ids, "image")
    categories = Ids(ground_truth.category_ids, "category")
    banned = np.array(sorted(set(blacklist)), np.int64).reshape(-1, 2)
    banned_keys = _codes(images, categories, banned[:, 0], banned[:, 1])
    every_key = _codes(images, categories, ground_truth.image, ground_truth.category)
    if len(banned):
        counted = counted & ~np.isin(every_key, banned_keys)
    chosen = np.flatnonzero(counted)
    limit = len(images.ids) * len(categories.ids)
    order, codes = ascending_codes(every_key[chosen], limit)
    # Not np.unique: its first call imports numpy.ma, which takes as long as scoring 50,000 detections.
    starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])[: len(codes)])
    keys = codes.take(starts)
    return Groups(
        images,
        categories,
        chosen[order],
        np.append(starts, len(order)),
        keys,
        banned_keys,
    )


def _codes(
    images: Ids,
    categories: Ids,
    image: Ints,
    category: Ints,
) -> Codes:
    codes = categories.places(category)
    codes *= len(images.ids)
    codes += images.places(image)
    if len(images.ids) * len(categories.ids) <= np.iinfo(np.int32).max:
        return codes.astype(np.int32)
    return codes


@dataclass(frozen=True, eq=False)
class Listing:
    """The detections that count: `order` (N,) are indices into the submission, sorted by category, image, arrival.

    `opens` (N,) marks the first detection of each image and category. Category k is `starts[k]` .. `starts[k + 1] - 1`.
    The detections of one image and category are a group; group g corresponds to the sorted objects `low[g]` ..
    `high[g] - 1`.
    """

    order: NDArray[np.int32]
    opens: NDArray[np.bool_]
    starts: Ints
    low: Ints
    high: Ints

    def batches(self) -> Iterator[tuple[int, int]]:
        """Split the categories into ranges `first` .. `last - 1`, so that only one range is in memory at a time."""
        first = 0
        end = len(self.starts) - 1
        for last in range(min(1, end), end + 1):
            size = self.starts[last] - self.starts[first]
            if size >= _BATCH or last == end:
                yield first, last
                first = last

    def ranked(
        self,
        first: int,
        last: int,
        confidence: NDArray[np.float64],
        ties_by_image: bool,
    ) -> tuple[Ints, Ints]:
        """Rank the detections of the categories `first` .. `last - 1` by category and confidence, highest first.

        Returns the detections (n,) in that order, and the rank (n,) from 0 of each detection as listed in `order`. If
        confidences are equal, the earlier arrival ranks first; with `ties_by_image`, the lower image does.
        """
        begin = self.starts[first]
        end = self.starts[last]
        members = self.order[begin:end].astype(np.int64)
        bounds = self.starts[first : last + 1] - begin
        turns = np.empty(len(members), np.int64)
        for low, high in pairwise(bounds.tolist()):
            part = members[low:high]
            if ties_by_image:
                order = descending(confidence.take(part))
            else:
                largest = int(part.max(initial=0))
                arrival = by_digits(part, largest.bit_length())
                by_arrival = confidence.take(part.take(arrival))
                order = arrival.take(descending(by_arrival))
            turns[low:high] = order + low
        ranks = np.empty(len(members), np.int64)
        ranks[turns] = np.arange(len(members))
        return members.take(turns), ranks


def list_detections(detections: Detections, groups: Groups) -> Listing:
    """Sort detections, without the blacklisted ones. Raises `CodedError` `unknown-image` or `unknown-category`."""
    images = len(groups.images.ids)
    categories = len(groups.categories.ids)
    columns = (detections.image, detections.category)
    codes = _codes(groups.images, groups.categories, *columns)
    order, codes = ascending_codes(codes, images * categories)
    if len(groups.blacklisted):
        counted = ~np.isin(codes, groups.blacklisted)
        order = order[counted]
        codes = codes[counted]
    opens = np.ones(len(codes), np.bool_)
    np.not_equal(codes[1:], codes[:-1], out=opens[1:])
    begins = (np.arange(categories + 1) * images).astype(codes.dtype)
    starts = np.searchsorted(codes, begins)
    low = np.searchsorted(codes, groups.keys)
    high = np.searchsorted(codes, groups.keys + 1)
    return Listing(
        order.astype(np.int32, copy=False),
        opens,
        starts,
        low,
        high,
    )
