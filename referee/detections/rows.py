"""Rows of seven numbers, and what was wrong with others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from referee.errors import RefereeError

NAMES = ("image", "category", "confidence", "xmin", "ymin", "xmax", "ymax")

MAX_ROWS = 1_000_000
"""The most detections one body may hold."""

MAX_PROBLEMS = 20
"""The most problems that are told one by one; beyond it they are only counted."""

ENOUGH_PROBLEMS = 10_000
"""A body with that many problems is read no further."""

PIECE_BYTES = 2**16
"""About so much of a body is read at a time: other threads get their turn in between, and memory stays small."""


@dataclass
class ProblemList:
    """Problems by line: the first of them in words, all of them counted."""

    first: list[tuple[int, str]] = field(default_factory=list)
    total: int = 0

    def add(self, line: int, problem: str) -> None:
        """Count a problem; keep its words if there is room."""
        self.total += 1
        if len(self.first) < MAX_PROBLEMS:
            self.first.append((line, problem))

    def as_facts(self) -> list[dict[str, object]]:
        """Return the kept problems by line, ready for JSON."""
        return [{"line": line, "problem": problem} for line, problem in sorted(self.first)]


@dataclass(frozen=True, eq=False)
class Rows:
    """What a parser could read, `values` (n, 7) float64 on the `lines` (n,), and what it could not."""

    values: NDArray[np.float64]
    lines: NDArray[np.int64] | range
    unreadable: ProblemList = field(default_factory=ProblemList)

    @classmethod
    def numbered(cls, values: NDArray[np.float64], first_line: int = 1) -> Rows:
        """Rows on lines of their own, one after the other."""
        return cls(values, range(first_line, first_line + len(values)))

    @classmethod
    def none(cls) -> Rows:
        """No rows."""
        return cls.numbered(np.empty((0, 7)))

    @classmethod
    def joined(cls, parts: Iterable[Rows]) -> Rows:
        """The rows of parts that follow one another, up to where they have problems enough.

        Raises RefereeError `too-large` for more than `MAX_ROWS`.
        """
        taken: list[Rows] = []
        problems = ProblemList()
        for part in parts:
            taken.append(part)
            room = MAX_PROBLEMS - len(problems.first)
            problems = ProblemList(
                problems.first + part.unreadable.first[:room], problems.total + part.unreadable.total
            )
            refuse_too_many(sum(len(one.values) for one in taken))
            if problems.total >= ENOUGH_PROBLEMS:
                break
        if len(taken) == 1:
            return taken[0]
        if not taken:
            return cls.none()
        values = np.concatenate([one.values for one in taken])
        return cls(values, np.concatenate([np.asarray(one.lines, np.int64) for one in taken]), problems)


def read_each(numbered: Iterable[tuple[int, object]], number_of: Callable[[object], float]) -> Rows:
    """Read rows one by one, by their lines, to tell what is wrong with each; `number_of` raises ValueError."""
    problems = ProblemList()
    values: list[list[float]] = []
    lines: list[int] = []
    for line, row in numbered:
        if not isinstance(row, list):
            problems.add(line, f"a row is a list of seven numbers, not {shown(row)}")
        elif len(row) != 7:
            problems.add(line, f"a row is seven numbers, this has {len(row)}: {shown(row)}")
        else:
            try:
                values.append([number_of(item) for item in row])
                lines.append(line)
            except ValueError as error:
                problems.add(line, str(error))
        if problems.total >= ENOUGH_PROBLEMS:
            break
    return Rows(np.array(values, np.float64).reshape(-1, 7), np.array(lines, np.int64), problems)


def text_number(item: object) -> float:
    """The number that a text is. Raises ValueError."""
    token = str(item)
    try:
        if token.isascii() and "_" not in token:  # float() takes 1_000 and other scripts' digits
            return float(token)
    except ValueError:
        pass
    raise ValueError(f"{shown(item)} is not a number")


def refuse_too_many(count: int) -> None:
    """Raise RefereeError `too-large` for more rows than one body may hold."""
    if count > MAX_ROWS:
        sentence = f"A body may hold {MAX_ROWS} detections, this one has {count}; send several."
        raise RefereeError("too-large", sentence, limit=MAX_ROWS, rows=count)


def refuse(code: str, sentence: str) -> NoReturn:
    """Raise a RefereeError that hides what led to it."""
    raise RefereeError(code, sentence) from None


def inverted_box(row: Sequence[float] | NDArray[np.float64]) -> str:
    """Return what is wrong with the corners of a row of seven numbers."""
    corners = ", ".join(plain(value) for value in row[3:])
    return f"the box {corners} is inverted: xmin, ymin, xmax, ymax must have xmin <= xmax and ymin <= ymax"


def plain(value: float) -> str:
    """Write a number as a person would: 7 and not 7.0, 0.1 and not np.float64(0.1)."""
    return repr(float(value)).removesuffix(".0")


def shown(value: object) -> str:
    """Return a value as a person sent it, cut to a length that fits a sentence."""
    if isinstance(value, (str, bytes, list)):
        value = value[:200]  # writing a long one out whole would take long
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
