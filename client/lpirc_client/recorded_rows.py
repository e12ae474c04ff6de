"""Reads recorded detections: a CSV file with a header, or without one the contest's rows of seven numbers.

Header: `image,class,confidence,xmin,ymin,xmax,ymax`, in any order; `category` may replace `class`, and other columns
are ignored. Without a header the columns have that order, separated by commas or blanks. Images are named by number
or file name, categories by number or name.
"""

from __future__ import annotations

import csv
import math
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Iterable, Iterator, Mapping, Sequence, Tuple

from lpirc_client.argument_parser import closest
from lpirc_client.errors import AnswerError, ClientError
from lpirc_client.presence import is_there
from lpirc_client.rows import CORNERS
from lpirc_client.wire import Category

NUMBERS = ("confidence", "xmin", "ymin", "xmax", "ymax")
NAMES = ("image", "category", *NUMBERS)
FORM = "CSV with a header, or rows of seven numbers"
MOST_SHOWN = 20
MOST_NAMED = 10
ALIASES = {"class": "category"}

Values = Tuple[float, float, float, float, float]
"""confidence, xmin, ymin, xmax, ymax."""


@dataclass(frozen=True)
class Recording:
    """Rows of a file: for each text that names an image, a list of (text that names the category, `Values`).

    `image_lines` and `category_lines` hold the first line on which each text occurs.
    """

    path: Path
    rows: dict[str, list[tuple[str, Values]]] = field(default_factory=dict)
    image_lines: dict[str, int] = field(default_factory=dict)
    category_lines: dict[str, int] = field(default_factory=dict)


def read(path: Path) -> Recording:
    """Read a recording. Raises ClientError `bad-recording`, which names file, line and value."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return _collect(path, _fields(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        if isinstance(error, IsADirectoryError):
            raise ClientError("bad-recording", f"{path}: {_folder(path)}") from error
        if isinstance(error, UnicodeDecodeError):
            reason = "it is not text in UTF-8; give a CSV file or rows of seven numbers"
        raise ClientError(
            "bad-recording", f"{path}: cannot be read: {reason}"
        ) from error


def _folder(path: Path) -> str:
    """Return what is wanted in place of a folder."""
    said = f"it is a folder; name a file of recorded detections: {FORM}"
    if is_there(path / "manifest.json"):
        return f"{said}; a test set is given as --testset {path}"
    return said


def whole(text: str) -> int | None:
    """Return the whole number in the text ("12", "12.000000"), or None."""
    with suppress(ValueError):
        return int(_plain(text))
    with suppress(ValueError):
        value = float(_plain(text))
        return int(value) if value.is_integer() else None
    return None


def _plain(text: str) -> str:
    """Return a text for int() and float(). Raises ValueError for forms such as 1_000 or digits of other scripts."""
    if "_" in text or not text.isascii():
        raise ValueError(text)
    return text


def category_ids(
    recording: Recording, categories: Iterable[Category]
) -> dict[str, int]:
    """Return the id for each category text, matched by id or name. Raises AnswerError for the first unknown one."""
    by_name: Mapping[str, int] = {category.name: category.id for category in categories}
    known = set(by_name.values())
    found: dict[str, int] = {}
    for text, line in recording.category_lines.items():
        number = whole(text)
        if number in known and number is not None:
            found[text] = number
        elif text in by_name:
            found[text] = by_name[text]
        else:
            what = f"category {text!r} is not one of this contest's {len(known)}{_meant(text, by_name)}"
            raise AnswerError(
                "unknown-category", f"{recording.path}, line {line}: {what}"
            )
    return found


def _meant(text: str, by_name: Mapping[str, int]) -> str:
    """Return the near category, or some of them, as the end of a sentence: ids for a number, else names."""
    if whole(text) is not None:
        known = [str(id_) for id_ in sorted(by_name.values())]
    else:
        known = list(by_name)
        meant = closest(text, known)
        if meant is not None:
            return f", but {meant!r} is"
    more = ", ..." if len(known) > MOST_NAMED else ""
    return f": {', '.join(known[:MOST_NAMED])}{more}"


def _fields(lines: Iterable[str]) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield (line number, fields) of every line that is not empty."""
    reader = csv.reader(lines, skipinitialspace=True)
    for fields in reader:
        if len(fields) == 1:
            fields = fields[0].split()
        if fields:
            yield reader.line_num, [text.strip() for text in fields]


def _collect(path: Path, lines: Iterator[tuple[int, Sequence[str]]]) -> Recording:
    recording = Recording(path)
    order: Sequence[int] = range(len(NAMES))
    header_names: Sequence[str] = NAMES
    width = 0
    for line, fields in lines:
        if not width:
            if fields[0][:1] in ("[", "{"):
                raise _bad(path, line, f"this seems to be JSON; give {FORM}")
            header = _header(path, line, fields)
            order = header or order
            header_names = fields if header else NAMES
            width = len(fields) if header else len(NAMES)
            if header:
                continue
        if len(fields) != width:
            values = "1 value" if len(fields) == 1 else f"{len(fields)} values"
            what = f"{values} instead of {width}{_why(fields, header_names)}"
            raise _bad(path, line, what)
        _add(recording, line, [fields[column] for column in order])
    return recording


def _header(
    path: Path,
    line: int,
    fields: Sequence[str],
) -> list[int] | None:
    """Return the column of each of NAMES, or None if the line is a row and not a header."""
    names = [name.lower() for name in fields]
    names = [ALIASES.get(name, name) for name in names]
    is_ours = bool(set(NUMBERS) & set(names))
    has_number = any(whole(text) is not None or _is_number(text) for text in fields)
    has_semicolon = any(";" in text for text in fields)
    if not is_ours and (len(fields) == 1 or has_number or has_semicolon):
        return None
    missing = [name for name in NAMES if name not in names]
    if missing:
        has = "" if is_ours else f"; it has {', '.join(fields[:MOST_SHOWN])}"
        raise _bad(path, line, f"the header lacks {', '.join(missing)}{has}")
    return [names.index(name) for name in NAMES]


def _is_number(text: str) -> bool:
    try:
        float(_plain(text))
    except ValueError:
        return False
    return True


def _why(fields: Sequence[str], names: Sequence[str]) -> str:
    """Return what a line of another number of values seems to be, as the end of a sentence."""
    if any(";" in text for text in fields):
        return "; semicolons separate its values: save it with commas, and with points in numbers"
    if len(fields) > MOST_SHOWN:
        return ""
    return f", which are {', '.join(names)}"


def _add(
    recording: Recording,
    line: int,
    texts: Sequence[str],
) -> None:
    image, category, *rest = texts
    values = tuple(
        _number(recording.path, line, name, text) for name, text in zip(NUMBERS, rest)
    )
    recording.image_lines.setdefault(image, line)
    recording.category_lines.setdefault(category, line)
    confidence, xmin, ymin, xmax, ymax = values
    if xmin > xmax or ymin > ymax:
        box = ", ".join(f"{edge:g}" for edge in values[1:])
        raise _bad(recording.path, line, f"the box is {box}; expected {CORNERS}")
    recording.rows.setdefault(image, []).append(
        (category, (confidence, xmin, ymin, xmax, ymax))
    )


def _number(
    path: Path,
    line: int,
    name: str,
    text: str,
) -> float:
    try:
        value = float(_plain(text))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _bad(path, line, f"{name} is {text!r}, not a finite number")
    return value


def _bad(
    path: Path,
    line: int,
    what: str,
) -> ClientError:
    return ClientError("bad-recording", f"{path}, line {line}: {what}")
