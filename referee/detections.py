"""A POST body of detections, parsed and checked: either rows of seven numbers or every problem found.

A row is image, category, confidence, xmin, ymin, xmax, ymax (inclusive pixels). A body is taken whole or
refused whole. The fast path only proves that a body is plain; whatever it cannot prove, the slow path reads
again, row by row, to explain.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from referee.errors import RefereeError

MAX_ROWS = 1_000_000
"""The most detections one body may hold."""

MAX_PROBLEMS = 20
"""The most problems that are told one by one; beyond it they are only counted."""

_PLAIN_JSON = b"0123456789+-.eE,[] \t\r\n"
_PLAIN_TEXT = b"0123456789+-.eE, \t\r\n"
_EMPTY_FIELDS = (b",,", b",\n", b",\r", b"\n,", b"\r,")


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
    def plain(cls, rows: list[list[float]], lines: list[int] | None = None) -> Rows:
        """Take rows that are all numbers. Raises ValueError or OverflowError unless each is seven numbers."""
        values = np.array(rows, np.float64) if rows else np.empty((0, 7))
        if values.ndim != 2 or values.shape[1] != 7:
            raise ValueError("a row is seven numbers")
        return cls(values, range(1, len(rows) + 1) if lines is None else np.array(lines, np.int64))


def parse_detections(
    body: bytes, content_type: str, images: int, category_ids: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Read and check the rows of a body: float64 of shape (n, 7).

    Images are 1..`images`; `category_ids` (K,) ascend; `content_type` is JSON or plain text (or text/csv).

    Raises `RefereeError` with code `unsupported-media-type`, `bad-json`, `bad-text`, `too-large` or
    `bad-rows`; the last has the facts `problems` (at most 20 of {"line", "problem"}) and `total`.
    """
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "application/json":
        return check_rows(parse_json(body), images, category_ids)
    if kind in ("text/plain", "text/csv"):
        return check_rows(parse_text(body), images, category_ids)
    sentence = f"Detections of type {kind[:80]!r} are not understood; send application/json or text/plain."
    raise RefereeError("unsupported-media-type", sentence, content_type=kind[:80])


def parse_json(body: bytes) -> Rows:
    """Read a JSON array of rows of seven numbers; the line of a row is its number. An empty body has none."""
    if not body or body.isspace():
        return Rows.plain([])
    decoded = _load_json(body)
    if not isinstance(decoded, list):
        raise RefereeError("bad-json", "The body must be a JSON array of rows of seven numbers.")
    _refuse_too_many(len(decoded))
    # Left over would be strings, true, false, null, NaN: numpy would turn "1", true and null into numbers.
    if not body.translate(None, _PLAIN_JSON):
        try:
            return Rows.plain(decoded)
        except (ValueError, OverflowError):
            pass
    return _read_each(enumerate(decoded, start=1), _json_number)


def parse_text(body: bytes) -> Rows:
    """Read text, one detection a line: seven numbers between blanks or commas. Blank lines are skipped."""
    split = [line.split() for line in body.replace(b",", b" ").splitlines()]
    _refuse_too_many(len(split))
    if not body.translate(None, _PLAIN_TEXT) and not _has_empty_field(body):
        lines = None if all(split) else [number for number, tokens in enumerate(split, start=1) if tokens]
        try:
            return Rows.plain([[*map(float, tokens)] for tokens in split if tokens], lines)
        except ValueError:
            pass
    return _read_each(_text_rows(body), _text_number)


def check_rows(rows: Rows, images: int, category_ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the values (n, 7) of rows if each names an image 1..`images`, a category and a sound box.

    `category_ids` ascending. Raises `RefereeError` `bad-rows` with every problem: those of the parser, and
    here numbers that are not finite, unknown images and categories, inverted boxes.
    """
    image, category, _, xmin, ymin, xmax, ymax = rows.values.T
    finite = np.atleast_1d(np.isfinite(rows.values).all(axis=1))
    good_image = (image >= 1) & (image <= images) & (np.floor(image) == image)
    good_category = is_known(category, category_ids)
    good_box = (xmin <= xmax) & (ymin <= ymax)
    good = finite & good_image & good_category & good_box
    if rows.unreadable.total == 0 and good.all():
        return rows.values
    problems = ProblemList(list(rows.unreadable.first), rows.unreadable.total)
    _describe(problems, rows, ~finite, _not_finite)
    _describe(
        problems,
        rows,
        finite & ~good_image,
        lambda r: f"image {plain(r[0])} is not a whole number in 1..{images}",
    )
    _describe(problems, rows, finite & ~good_category, lambda r: f"category {plain(r[1])} is unknown")
    _describe(problems, rows, finite & ~good_box, inverted_box)
    raise _bad_rows(problems)


def is_known(values: NDArray[np.float64], ascending: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Tell which values (M,) are among ids (K,) in ascending order."""
    if len(ascending) == 0:
        return np.zeros(len(values), np.bool_)
    at = ascending.searchsorted(values)
    found: NDArray[np.bool_] = ascending.take(at, mode="clip") == values
    return found


def inverted_box(row: Sequence[float] | NDArray[np.float64]) -> str:
    """Return what is wrong with the corners of a row of seven numbers."""
    corners = ", ".join(plain(value) for value in row[3:])
    return f"the box {corners} is inverted: xmin, ymin, xmax, ymax must have xmin <= xmax and ymin <= ymax"


def plain(value: float) -> str:
    """Write a number as a person would: 7 and not 7.0, 0.1 and not np.float64(0.1)."""
    return repr(float(value)).removesuffix(".0")


def shown(value: object) -> str:
    """Return a value as a person sent it, cut to a length that fits a sentence."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _load_json(body: bytes) -> object:
    try:
        return json.loads(body.decode())
    except UnicodeDecodeError:
        _refuse("bad-json", "The body is not UTF-8.")
    except json.JSONDecodeError as error:
        _refuse(
            "bad-json", f"The body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        )
    except RecursionError:
        _refuse("bad-json", "The body is nested too deeply; send an array of rows of seven numbers.")
    except ValueError:  # int() refuses more than some thousand digits
        _refuse("bad-json", "The body holds a number with too many digits.")


def _refuse(code: str, sentence: str) -> NoReturn:
    raise RefereeError(code, sentence) from None


def _refuse_too_many(count: int) -> None:
    if count > MAX_ROWS:
        sentence = f"A body may hold {MAX_ROWS} detections, this one has {count}; send several."
        raise RefereeError("too-large", sentence, limit=MAX_ROWS, rows=count)


def _has_empty_field(body: bytes) -> bool:
    if b"," not in body:
        return False
    packed = body.translate(None, b" \t")
    return packed[:1] == b"," or packed[-1:] == b"," or any(empty in packed for empty in _EMPTY_FIELDS)


def _text_rows(body: bytes) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(body.splitlines(), start=1):
        stripped = line.decode(errors="backslashreplace").strip()
        if stripped:
            yield number, re.split(r"\s*,\s*|\s+", stripped)


def _read_each(numbered: Iterable[tuple[int, object]], number_of: Callable[[object], float]) -> Rows:
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
    return Rows(np.array(values, np.float64).reshape(-1, 7), np.array(lines, np.int64), problems)


def _json_number(item: object) -> float:
    if isinstance(item, bool) or not isinstance(item, (int, float)):
        raise ValueError(f"{shown(item)} is not a number")  # noqa: TRY004  # the value, not the program
    try:
        return float(item)
    except OverflowError:
        raise ValueError(f"{shown(item)} is too large for a number") from None


def _text_number(item: object) -> float:
    token = str(item)
    try:
        if token.isascii() and "_" not in token:  # float() takes 1_000 and other scripts' digits
            return float(token)
    except ValueError:
        pass
    raise ValueError(f"{shown(item)} is not a number")


def _not_finite(row: NDArray[np.float64]) -> str:
    names = ("image", "category", "confidence", "xmin", "ymin", "xmax", "ymax")
    bad = (f"{name} is {value}" for name, value in zip(names, row, strict=True) if not np.isfinite(value))
    return f"{', '.join(bad)}; only finite numbers count"


def _describe(
    problems: ProblemList, rows: Rows, bad: NDArray[np.bool_], words: Callable[[NDArray[np.float64]], str]
) -> None:
    # Only as many lines as will be told are put into words, however many are bad.
    places = np.flatnonzero(bad)
    told = [(int(rows.lines[place]), words(rows.values[place])) for place in places[:MAX_PROBLEMS]]
    problems.first = sorted([*problems.first, *told])[:MAX_PROBLEMS]
    problems.total += len(places)


def _bad_rows(problems: ProblemList) -> RefereeError:
    line, problem = min(problems.first)
    more = f" (and {problems.total - 1} more problems)" if problems.total > 1 else ""
    return RefereeError(
        "bad-rows",
        f"Nothing was taken: line {line}: {problem}{more}.",
        problems=problems.as_facts(),
        total=problems.total,
    )
