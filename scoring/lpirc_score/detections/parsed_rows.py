"""Rows of seven numbers, and the problems of rows that could not be read."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from lpirc_score.errors import CodedError
from lpirc_testsets.values import shown

NAMES = ("image", "category", "confidence", "xmin", "ymin", "xmax", "ymax")

FORM = f"seven numbers ({', '.join(NAMES)})"

ADVICE = {
    "image": "; send the number that this run fetched it by",
    "category": "; send its id, as the log-in gives it",
}
"""What to do where a name stands in place of a number."""

AROUND_NUMBERS = "\"'[](){}"
DIGITS = re.compile(r"-?\d+(\.\d+)?")

MAX_PROBLEMS = 20
"""The most problems that are reported individually; further ones are only counted."""

ENOUGH_PROBLEMS = 10_000
"""Reading stops after this many problems."""


class EnoughProblems(Exception):
    """Raised to stop reading once a reader has found as many problems as will be reported."""


@dataclass
class ProblemList:
    """Problems by line. All are counted, and the first `most` kept as sentences; with `stops`, reading then ends."""

    first: list[tuple[int, str]] = field(default_factory=list)
    total: int = 0
    most: int = MAX_PROBLEMS
    stops: bool = False

    def add(
        self,
        line: int,
        problem: str,
    ) -> None:
        """Count a problem, and keep its words if it is one of the first.

        Raises EnoughProblems if `stops` is set and `most` is reached.
        """
        self.total += 1
        if len(self.first) < self.most:
            self.first.append((line, problem))
        if self.stops and self.total >= self.most:
            raise EnoughProblems

    def as_facts(self) -> list[dict[str, object]]:
        """Return the kept problems, sorted by line and ready for JSON."""
        return [
            {"line": line, "problem": problem} for line, problem in sorted(self.first)
        ]


@dataclass(frozen=True)
class Refused:
    """The refused rows of a body whose other rows are accepted: how many, and the first as (line, reason, text)."""

    total: int = 0
    first: tuple[tuple[int, str, str], ...] = ()


NONE_REFUSED = Refused()

Taken = NDArray[np.float64] | tuple[NDArray[np.float64], Refused]
"""The accepted rows (n, 7) of a body. If the protocol accepts a body in part, the refused rows are added."""


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows that a parser could read: `values` (n, 7) float64 and their `lines` (n,).

    `unreadable` has the problems of the other rows.
    """

    values: NDArray[np.float64]
    lines: NDArray[np.int64] | range
    unreadable: ProblemList = field(default_factory=ProblemList)

    @classmethod
    def numbered(
        cls,
        values: NDArray[np.float64],
        first_line: int = 1,
    ) -> Rows:
        """Return rows on consecutive lines."""
        return cls(values, range(first_line, first_line + len(values)))

    @classmethod
    def none(cls) -> Rows:
        """Return an object without rows."""
        return cls.numbered(np.empty((0, 7)))

    @classmethod
    def joined(cls, parts: Iterable[Rows]) -> Rows:
        """Join the rows of consecutive parts, up to `ENOUGH_PROBLEMS`."""
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
    """Read rows one by one, with their line numbers, and record each problem.

    `number_of` converts one value to a number, and raises ValueError if it cannot.
    """
    problems = ProblemList()
    # numpy takes the array's buffer at once; converting lists would block all other threads.
    values = array("d")
    lines: list[int] = []
    for line, row in numbered:
        if not isinstance(row, list):
            problems.add(line, f"a row is a list of {FORM}, not {shown(row)}")
        elif len(row) != 7:
            problems.add(
                line,
                f"a row needs {FORM}, but this one has {len(row)}: {shown(row)}",
            )
        else:
            try:
                values.extend(_numbers(row, number_of))
                lines.append(line)
            except ValueError as error:
                problems.add(line, str(error))
        if problems.total >= ENOUGH_PROBLEMS:
            break
    return Rows(
        np.array(values, np.float64).reshape(-1, 7), np.array(lines, np.int64), problems
    )


def _numbers(
    row: Sequence[object], number_of: Callable[[object], float]
) -> list[float]:
    """Return the seven numbers of a row. Raises ValueError with the name of the value that is none."""
    numbers = []
    for name, item in zip(NAMES, row, strict=True):
        try:
            numbers.append(number_of(item))
        except ValueError as error:
            raise ValueError(f"{name}: {error}{_advice(name, item)}") from None
    return numbers


def _advice(name: str, item: object) -> str:
    """Return what to do about a text in place of a number, for the end of a sentence."""
    if not isinstance(item, str):
        return ""
    bare = item.strip(AROUND_NUMBERS)
    if bare != item or DIGITS.fullmatch(bare):
        return "; write numbers without quotes and brackets"
    return ADVICE.get(name, "")


def refuse(code: str, sentence: str) -> NoReturn:
    """Raise a CodedError without a chained cause."""
    raise CodedError(code, sentence) from None


def inverted_box(row: Sequence[float] | NDArray[np.float64]) -> str:
    """Describe how the corners of a row of seven numbers are inverted."""
    corners = ", ".join(plain(value) for value in row[3:])
    order = ""
    if not 0 <= row[2] <= 1 and 0 <= row[6] <= 1:
        order = (
            f"; the confidence seems to stand last: {', '.join(NAMES[2:])} is the order"
        )
    return f"the box {corners} is inverted: xmin, ymin, xmax, ymax must have xmin <= xmax and ymin <= ymax{order}"


def plain(value: float) -> str:
    """Write a number as a person would: 7 instead of 7.0, 0.1 instead of np.float64(0.1)."""
    return repr(float(value)).removesuffix(".0")
