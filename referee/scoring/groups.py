"""Ground truth grouped by (image, category), and the group of each detection."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from referee.errors import RefereeError
from referee.scoring.ordering import ascending_codes
from testsets.ground_truth import GroundTruth

Ints = NDArray[np.int64]

NO_OBJECTS = -1
BLACKLISTED = -2

_DENSE_CELLS = 1 << 24
_WIDEST_SPAN = 1 << 24


@dataclass(frozen=True, eq=False)
class Ids:
    """The ids (N,) of a set, ascending, and the way from an id to its place 0..N - 1."""

    ids: Ints
    what: str

    def places(self, wanted: Ints) -> Ints:
        """Return the places (M,) of ids (M,). Raises `RefereeError` `unknown-image` or `unknown-category`."""
        if len(self.ids) and len(wanted):
            places = self._search(wanted)
            known = self.ids[places] == wanted
        else:
            places, known = np.zeros(len(wanted), np.int64), np.zeros(len(wanted), np.bool_)
        if not known.all():
            first = int(wanted[np.argmin(known)])
            raise RefereeError(
                f"unknown-{self.what}", f"The ground truth has no {self.what} {first}.", id=first
            )
        return places

    def _search(self, wanted: Ints) -> Ints:
        first, last = int(self.ids[0]), int(self.ids[-1])
        if last - first + 1 == len(self.ids):
            return np.clip(wanted, first, last) - first
        if last - first < min(_WIDEST_SPAN, 16 * len(self.ids)):
            table = np.zeros(last - first + 1, np.int64)
            table[self.ids - first] = np.arange(len(self.ids))
            return table[np.clip(wanted, first, last) - first]
        return np.minimum(np.searchsorted(self.ids, wanted), len(self.ids) - 1)


@dataclass(frozen=True, eq=False)
class Groups:
    """The objects that count, sorted by (image, category) and, within such a group, as the source lists them.

    `objects` (G,) are their indices in the ground truth; group k holds the sorted objects
    `starts[k]` .. `starts[k + 1] - 1`.
    """

    images: Ids
    categories: Ids
    objects: Ints
    starts: Ints
    keys: Ints
    blacklisted: Ints
    table: NDArray[np.int32] | None

    def counts(self, which: NDArray[np.bool_]) -> Ints:
        """Return how many of the sorted objects that are marked (G,) each category (K,) has."""
        width = len(self.categories.ids)
        places = np.repeat(self.keys % max(width, 1), np.diff(self.starts))
        return np.bincount(places[which], minlength=width)

    def at(self, image: Ints, category: Ints) -> NDArray[np.integer]:
        """Return the group (M,) at places (M,) of images and categories, or NO_OBJECTS, or BLACKLISTED."""
        keys = image * len(self.categories.ids) + category
        if self.table is not None:
            dense: NDArray[np.int32] = self.table[keys]
            return dense
        found = np.full(len(keys), NO_OBJECTS, np.int64)
        if len(self.keys):
            at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
            found = np.where(self.keys[at] == keys, at, NO_OBJECTS)
        if len(self.blacklisted):
            found[np.isin(keys, self.blacklisted)] = BLACKLISTED
        return found


def group_objects(
    ground_truth: GroundTruth, counted: NDArray[np.bool_], blacklist: Iterable[tuple[int, int]]
) -> Groups:
    """Group the `counted` (M,) objects of a ground truth, without blacklisted (image, category) ids."""
    images = Ids(ground_truth.image_ids, "image")
    categories = Ids(ground_truth.category_ids, "category")
    width, cells = len(categories.ids), len(images.ids) * len(categories.ids)
    banned = np.array(sorted(set(blacklist)), np.int64).reshape(-1, 2)
    banned_keys = np.unique(images.places(banned[:, 0]) * width + categories.places(banned[:, 1]))
    every_key = images.places(ground_truth.image) * width + categories.places(ground_truth.category)
    chosen = np.flatnonzero(counted & ~np.isin(every_key, banned_keys))
    objects = chosen[ascending_codes(every_key[chosen], cells)]
    keys, starts = np.unique(every_key[objects], return_index=True)
    return Groups(
        images=images,
        categories=categories,
        objects=objects,
        starts=np.append(starts, len(objects)),
        keys=keys,
        blacklisted=banned_keys,
        table=_dense(keys, banned_keys, cells) if cells <= _DENSE_CELLS else None,
    )


def _dense(keys: Ints, blacklisted: Ints, cells: int) -> NDArray[np.int32]:
    # One table look-up a detection instead of a binary search: 16 MB for 20,000 images of 200 categories.
    table = np.full(cells, NO_OBJECTS, np.int32)
    table[keys] = np.arange(len(keys))
    table[blacklisted] = BLACKLISTED
    return table
