"""Keeps the newest rendered fragments of pages, so that what has not changed is rendered once for all viewers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable

MOST_KEPT = 8


class KeptFragments:
    """The newest fragments, by keys that name all they show."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[Hashable, str] = {}

    def get(self, key: Hashable, make: Callable[[], str]) -> str:
        """Return the fragment of a key; if it is not kept, make it. Two requests at once may both make it."""
        with self._lock:
            kept = self._kept.pop(key, None)
        made = make() if kept is None else kept
        with self._lock:
            self._kept[key] = made  # the newest is the last
            while len(self._kept) > MOST_KEPT:
                del self._kept[next(iter(self._kept))]
        return made
