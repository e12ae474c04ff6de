"""Collecting everything that is wrong before saying so."""

from __future__ import annotations

from testsets.errors import TestSetError

LIMIT = 20


class Problems:
    """Sentences about what is wrong: all are counted, the first `limit` kept, None keeping all."""

    def __init__(self, limit: int | None = LIMIT) -> None:
        self.count = 0
        self._limit = limit
        self._kept: list[str] = []

    @property
    def kept(self) -> tuple[str, ...]:
        """The problems in the order in which they were found."""
        return tuple(self._kept)

    def add(self, sentence: str) -> None:
        """Take note of one problem; the sentence names file and value."""
        self.count += 1
        if self._limit is None or len(self._kept) < self._limit:
            self._kept.append(sentence)

    def raise_if_any(self, code: str) -> None:
        """Raise TestSetError with the first problem, how many more there are, and all that were kept."""
        if not self.count:
            return
        others = self.count - 1
        more = f" (and {others} more problem{'s' if others > 1 else ''})" if others else ""
        raise TestSetError(code, self._kept[0] + more, tuple(self._kept))
