"""The errors of test sets, and the list of problems behind such an error."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

LIMIT = 20
CORRECT = "correct it in that file"
PLACE = r"(?:(?:line|object|image|category) -?\d+|\w+\[\d+\]):? "
FORM = re.compile(rf"(?:(?P<file>.*?): )?(?P<place>{PLACE})?(?P<what>.*)", re.DOTALL)
FILE = r"\S*(?:/[^\s,)]*|\.(?i:jpe?g)\b)"
VALUE = re.compile(
    rf"""'[^']*'|"[^"]*"|\[[^]]*\]|{FILE}|(?<![\w-])-?\w*\d[\w.]*(?:(?<=e)\+\d+)?(?: x \d+)?"""
)


@dataclass(frozen=True)
class Problem:
    """A sentence "file: place: what is wrong", split into the columns of a table; `remedy` says what to do.

    `kind` is the sentence's last part without its values, to count problems of one kind.
    """

    sentence: str
    file: str
    place: str
    problem: str
    value: str
    remedy: str
    kind: str

    @classmethod
    def of(
        cls,
        sentence: str,
        remedy: str,
    ) -> Problem:
        """Split a sentence "file: place: what is wrong" into its parts."""
        parts = FORM.fullmatch(sentence)
        file, place, what = parts.groups("") if parts else ("", "", sentence)
        value = VALUE.search(what)
        kind = VALUE.sub("...", what)
        return cls(
            sentence,
            file,
            place.strip(": "),
            what,
            value[0] if value else "",
            remedy,
            kind,
        )


class TestSetError(Exception):
    """A test set, or a file meant to become one, is not usable.

    `code` is stable and kebab-case; the sentence names file and value. `problems` lists everything found, one sentence
    each, if there is more than the first.
    """

    __test__ = False  # pytest would take it for a class of tests

    def __init__(
        self,
        code: str,
        sentence: str,
        problems: tuple[str, ...] = (),
    ) -> None:
        super().__init__(sentence)
        self.code = code
        self.sentence = sentence
        self.problems = problems


class Problems:
    """Collects sentences about what is wrong: counts all, and keeps the first `limit` (None: all)."""

    def __init__(self, limit: int | None = LIMIT) -> None:
        self.count = 0
        self.kinds: Counter[str] = Counter()
        self.rows: list[Problem] = []
        self._limit = limit

    @property
    def kept(self) -> tuple[str, ...]:
        """The kept problems in the order in which they were found."""
        return tuple(row.sentence for row in self.rows)

    def add(
        self,
        *sentences: str,
        remedy: str = CORRECT,
    ) -> None:
        """Add problems as sentences that name file and value. Sentences with unprintable characters are escaped."""
        for sentence in sentences:
            row = Problem.of(
                sentence if sentence.isprintable() else repr(sentence)[1:-1], remedy
            )
            self.count += 1
            self.kinds[row.kind] += 1
            if self._limit is None or len(self.rows) < self._limit:
                self.rows.append(row)

    def raise_if_any(self, code: str) -> None:
        """Raise TestSetError if there are problems.

        The error has the first problem, the number of further ones, and all kept problems.
        """
        if not self.count:
            return
        others = self.count - 1
        more = ""
        if others:
            more = f" (and {others} more problem{'s' if others > 1 else ''})"
        raise TestSetError(code, self.kept[0] + more, self.kept)


@dataclass(frozen=True)
class Reports:
    """The outputs of an import: its problems, and calls of `progress` with the number of images done and of all.

    `notes` are sentences about what is no problem, such as files that were left out.
    """

    problems: Problems = field(default_factory=Problems)
    progress: Callable[[int, int], None] = lambda _done, _total: None
    notes: list[str] = field(default_factory=list)
