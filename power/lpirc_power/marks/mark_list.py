"""The marks of one recording, as they come in: names cleaned, stretches closed, limits kept."""

from __future__ import annotations

import contextlib
import itertools
import math
import threading
from collections.abc import Callable, Iterator
from typing import Final

from lpirc_power.record.document import Mark

MOST_MARKS: Final = 100_000
"""Marks that one recording keeps; further ones are counted as lost."""
MOST_OPEN: Final = 10_000
"""Stretches that may be open at a time."""
MOST_NAMES: Final = 1_000
"""Different names; further ones share OTHERS."""
OTHERS: Final = "(other names)"
LONGEST_NAME: Final = 100
MOST_S: Final = 1e12
"""Largest time of a mark: 30,000 years."""


class Wrong(Exception):
    """A message that is no mark."""


class MarkList:
    """The marks of a recording. They may come from any thread.

    `lost` counts marks that were not kept, here or at the sender; `refused` counts messages that were no marks.
    """

    def __init__(self) -> None:
        self.lost = 0
        self.refused = 0
        self._guard = threading.Lock()
        self._closed: list[Mark] = []
        self._open: dict[object, Mark] = {}
        self._ended_first: set[object] = set()
        self._names: dict[str, str] = {}

    def __len__(self) -> int:
        with self._guard:
            return len(self._closed) + len(self._open)

    @property
    def marks(self) -> tuple[Mark, ...]:
        """The marks in the order of their beginnings; those that are still open have no end."""
        with self._guard:
            found = [*self._closed, *self._open.values()]
        return tuple(sorted(found, key=lambda one: one.begin_s))

    def latest(self, most: int) -> tuple[Mark, ...]:
        """Return at most so many of the last marks, at the cost of those alone, however many there are."""
        with self._guard:
            still_open = list(itertools.islice(reversed(self._open.values()), most))
            found = [*self._closed[-most:], *still_open]
        found.sort(key=lambda one: one.begin_s)
        return tuple(found[-most:])

    def add(
        self, name: object, begin_s: float, end_s: float, doubt_s: float = 0.0
    ) -> None:
        """Add a stretch, or an instant if both times are equal. Raises Wrong."""
        if not begin_s <= end_s:
            raise Wrong
        _require_readable(begin_s, end_s, doubt_s)
        with self._guard:
            self._keep(Mark(self._known(name), begin_s, end_s, doubt_s))

    def begin(
        self, key: object, name: object, at_s: float, doubt_s: float = 0.0
    ) -> None:
        """Open a stretch, which `end` closes by its key. Raises Wrong."""
        _require_readable(at_s, doubt_s)
        with self._guard:
            if key in self._ended_first:
                self._ended_first.remove(key)
            elif len(self._open) < MOST_OPEN:
                self._open[key] = Mark(self._known(name), at_s, None, doubt_s)

    def end(
        self,
        key: object,
        name: object,
        begin_s: float,
        end_s: float,
        doubt_s: float = 0.0,
    ) -> None:
        """Close a stretch; whether its beginning has arrived does not matter. Raises Wrong."""
        self.add(name, begin_s, end_s, doubt_s)
        with self._guard:
            is_open = self._open.pop(key, None) is not None
            if not is_open and len(self._ended_first) < MOST_OPEN:
                self._ended_first.add(key)

    @contextlib.contextmanager
    def stretch(self, name: str, monotonic: Callable[[], float]) -> Iterator[None]:
        """Mark the duration of a with statement in this process."""
        key = object()
        begin_s = monotonic()
        self.begin(key, name, begin_s)
        try:
            yield
        finally:
            self.end(key, name, begin_s, monotonic())

    def _keep(self, mark: Mark) -> None:
        if len(self._closed) < MOST_MARKS:
            self._closed.append(mark)
        else:
            self.lost += 1

    def _known(self, name: object) -> str:
        cleaned = clean(name)
        if cleaned not in self._names and len(self._names) >= MOST_NAMES:
            return OTHERS
        return self._names.setdefault(cleaned, cleaned)


def clean(name: object) -> str:
    """Return a name that can be printed on one line: what cannot be printed is "?", and its length is limited.

    Raises Wrong for what is no text or nothing but blanks.
    """
    if not isinstance(name, str):
        raise Wrong
    cleaned = "".join(map(_shown, name[: LONGEST_NAME + 1])).strip()
    if not cleaned:
        raise Wrong
    return cleaned if len(name) <= LONGEST_NAME else f"{cleaned[: LONGEST_NAME - 3]}..."


def _shown(character: str) -> str:
    return character if character.isprintable() else "?"


def _require_readable(*times_s: float) -> None:
    """Raise Wrong for a time that the reader of records would refuse."""
    if not all(abs(one) < MOST_S for one in times_s):
        raise Wrong


def finite(value: object) -> float:
    """Return a number of a message. Raises Wrong."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not math.isfinite(value)
    ):
        raise Wrong
    return float(value)
