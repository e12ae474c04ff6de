"""The detections of every category in the order that decides their ranks, kept sorted while they arrive."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from referee.scoring.growing import GrowingColumn
from referee.scoring.ordering import ascending_codes, descending

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Members = NDArray[np.int32]


class RunningList:
    """By category: confidence descending, image ascending, arrival.

    `append` only takes detections down, `update` sorts in what has come since the last one: a vectorised binary
    search for the places of the new ones and one copy of a list of four bytes a detection, never a new sort.
    Detections go by their number of arrival.
    """

    def __init__(self, images: int, categories: int) -> None:
        self._images = images
        self._categories = categories
        self._image = GrowingColumn(np.int32)
        self._category = GrowingColumn(np.int32)
        self._confidence = GrowingColumn(np.float64)
        self._order: Members = np.empty(0, np.int32)
        self._ends = np.zeros(categories, np.int64)

    def __len__(self) -> int:
        return len(self._confidence)

    @property
    def image(self) -> NDArray[np.int32]:
        """The places (M,) of the images, by arrival."""
        return self._image.values

    @property
    def category(self) -> NDArray[np.int32]:
        """The places (M,) of the categories, by arrival."""
        return self._category.values

    @property
    def confidence(self) -> Floats:
        """The confidences (M,), by arrival."""
        return self._confidence.values

    def append(self, image: Ints, category: Ints, confidence: Floats) -> None:
        """Take down detections (M,) that arrived after all earlier ones, by the places of image and category."""
        self._image.append(image)
        self._category.append(category)
        self._confidence.append(confidence)

    def update(self) -> Ints:
        """Sort in what has come since the last call; gives the categories that it touched."""
        first = len(self._order)
        if first == len(self):
            return np.empty(0, np.int64)
        category = self.category[first:]
        new = self._sorted(first)
        self._order = np.insert(self._order, self._places(new), new)
        added = np.bincount(category, minlength=self._categories)
        self._ends += np.cumsum(added)
        return np.flatnonzero(added)

    def members(self, category: int) -> Members:
        """The detections of a category in list order; `update` has been called after the last `append`."""
        return self._order[self._ends[category - 1] if category else 0 : self._ends[category]]

    def _sorted(self, first: int) -> Members:
        order = ascending_codes(self.image[first:], self._images)
        order = order[descending(self.confidence[first:][order])]
        order = order[ascending_codes(self.category[first:][order], self._categories)]
        return (order + first).astype(np.int32)

    def _places(self, new: Members) -> Ints:
        """Where in the list each of the `new` (M,) belongs: before the first one that comes after it.

        Of equals the listed ones arrived earlier, so that they come before it.
        """
        image, confidence = self.image[new], self.confidence[new]
        high = self._ends[self.category[new]]
        low = np.append(0, self._ends[:-1])[self.category[new]]
        for _ in range(int((high - low).max()).bit_length()):
            middle = (low + high) >> 1
            searching = low < high
            listed = self._order[np.where(searching, middle, 0)]
            theirs = self.confidence[listed]
            after = (theirs < confidence) | ((theirs == confidence) & (self.image[listed] > image))
            high = np.where(searching & after, middle, high)
            low = np.where(searching & ~after, middle + 1, low)
        return low
