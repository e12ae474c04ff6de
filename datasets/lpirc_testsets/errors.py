"""What can be wrong with a test set: the failure, and the list of problems that leads to it."""

from __future__ import annotations

LIMIT = 20


class TestSetError(Exception):
    """A test set, or a file meant to become one, is not usable.

    `code` is stable and kebab-case; the sentence names file and value; `problems` lists everything found, one
    sentence each, if there is more to say than the first.
    """

    __test__ = False  # pytest would take it for a class of tests

    def __init__(self, code: str, sentence: str, problems: tuple[str, ...] = ()) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence
        self.problems = problems


class Problems:
    """Collects sentences about what is wrong: counts all of them and keeps the first `limit`; None keeps all."""

    def __init__(self, limit: int | None = LIMIT) -> None:
        self.count = 0
        self._limit = limit
        self._kept: list[str] = []

    @property
    def kept(self) -> tuple[str, ...]:
        """The problems in the order in which they were found."""
        return tuple(self._kept)

    def add(self, *sentences: str) -> None:
        """Add problems; each sentence names file and value. What cannot be printed on a line is escaped."""
        self.count += len(sentences)
        self._kept += (one if one.isprintable() else repr(one)[1:-1] for one in sentences)
        if self._limit is not None:
            del self._kept[self._limit :]

    def raise_if_any(self, code: str) -> None:
        """Raise TestSetError with the first problem, the number of the others, and all that were kept."""
        if not self.count:
            return
        others = self.count - 1
        more = f" (and {others} more problem{'s' if others > 1 else ''})" if others else ""
        raise TestSetError(code, self._kept[0] + more, self.kept)
