"""A column that grows at its end."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)

_FIRST_ROOM = 1024


class GrowingColumn(Generic[Scalar]):
    """Values that are appended in batches; its room doubles, so that an append costs what it adds."""

    def __init__(self, dtype: type[Scalar]) -> None:
        self._room: NDArray[Scalar] = np.empty(_FIRST_ROOM, dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def values(self) -> NDArray[Scalar]:
        """All values so far: a view that may be written to, and that the next `append` may outdate."""
        return self._room[: self._size]

    def append(self, values: NDArray[Any]) -> None:
        """Put values behind the last one."""
        size = self._size + len(values)
        if size > len(self._room):
            room = np.empty(max(size, 2 * len(self._room)), self._room.dtype)
            room[: self._size] = self.values
            self._room = room
        self._room[self._size : size] = values
        self._size = size
