"""Rows of seven numbers, and the problems of rows that are not."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from lpirc_score.errors import CodedError
from lpirc_testsets.values import shown

NAMES = ("image", "category", "confidence", "xmin", "ymin", "xmax", "ymax")

MAX_PROBLEMS = 20
"""The most problems that are reported one by one; further ones are only counted."""

ENOUGH_PROBLEMS = 10_000
"""Reading stops after this many problems."""


class EnoughProblems(Exception):
    """A reader has found as many problems as anyone wants to know."""


@dataclass
class ProblemList:
    """Problems by line: the first of them in words, all of them counted; with `stops`, no more than the first."""

    first: list[tuple[int, str]] = field(default_factory=list)
    total: int = 0
    most: int = MAX_PROBLEMS
    stops: bool = False

    def add(
        self,
        line: int,
        problem: str,
    ) -> None:
        """Count a problem; keep its words if it is one of the first. Raises EnoughProblems once it `stops`."""
        self.total += 1
        if len(self.first) < self.most:
            self.first.append((line, problem))
        if self.stops and self.total >= self.most:
            raise EnoughProblems

    def as_facts(self) -> list[dict[str, object]]:
        """Return the kept problems by line, ready for JSON."""
        return [
            {"line": line, "problem": problem} for line, problem in sorted(self.first)
        ]


@dataclass(frozen=True)
class Refused:
    """Rows that are refused while others of their body are taken: how many, the first as (line, reason, text)."""

    total: int = 0
    first: tuple[tuple[int, str, str], ...] = ()


NONE_REFUSED = Refused()

Taken = NDArray[np.float64] | tuple[NDArray[np.float64], Refused]
"""The rows (n, 7) of a body, and those refused where its protocol takes the others."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows that a parser could read, `values` (n, 7) float64 on the `lines` (n,), and the problems of the rest."""

    values: NDArray[np.float64]
    lines: NDArray[np.int64] | range
    unreadable: ProblemList = field(default_factory=ProblemList)

    @classmethod
    def numbered(
        cls,
        values: NDArray[np.float64],
        first_line: int = 1,
    ) -> Rows:
        """Rows on lines of their own, one after the other."""
        return cls(values, range(first_line, first_line + len(values)))

    @classmethod
    def none(cls) -> Rows:
        """No rows."""
        return cls.numbered(np.empty((0, 7)))

    @classmethod
    def joined(cls, parts: Iterable[Rows]) -> Rows:
        """The rows of parts that follow one another, up to `ENOUGH_PROBLEMS`."""
        values = [np.empty((0, 7))]
        lines = [np.empty(0, np.int64)]
        problems = ProblemList()
        for part in parts:
            values.append(part.values)
            lines.append(np.asarray(part.lines, np.int64))
            problems.first = (problems.first + part.unreadable.first)[:MAX_PROBLEMS]
            problems.total += part.unreadable.total
            if problems.total >= ENOUGH_PROBLEMS:
                break
        return cls(np.concatenate(values), np.concatenate(lines), problems)


def read_each(
    numbered: Iterable[tuple[int, object]],
    number_of: Callable[[object], float],
) -> Rows:
    """Read rows one by one, with their line numbers, and report each problem; `number_of` raises ValueError."""
    problems = ProblemList()
    # numpy takes its buffer at once; from lists it would stop every other thread meanwhile.
    values = array("d")
    lines: list[int] = []
    for line, row in numbered:
        if not isinstance(row, list):
            problems.add(line, f"a row is a list of seven numbers, not {shown(row)}")
        elif len(row) != 7:
            problems.add(
                line, f"a row is seven numbers, this has {len(row)}: {shown(row)}"
            )
        else:
            try:
                values.extend([number_of(item) for item in row])
                lines.append(line)
            except ValueError as error:
                problems.add(line, str(error))
        if problems.total >= ENOUGH_PROBLEMS:
            break
    return Rows(
        np.array(values, np.float64).reshape(-1, 7), np.array(lines, np.int64), problems
    )


def refuse(code: str, sentence: str) -> NoReturn:
    """Raise a CodedError without its cause."""
    raise CodedError(code, sentence) from None


def inverted_box(row: Sequence[float] | NDArray[np.float64]) -> str:
    """Describe the inverted corners of a row of seven numbers."""
    corners = ", ".join(plain(value) for value in row[3:])
    return f"the box {corners} is inverted: xmin, ymin, xmax, ymax must have xmin <= xmax and ymin <= ymax"


def plain(value: float) -> str:
    """Write a number as a person would: 7 and not 7.0, 0.1 and not np.float64(0.1)."""
    return repr(float(value)).removesuffix(".0")
