"""Detections and blacklists from files: CSV with a header, the contest's rows of seven numbers, COCO results.

Rows keep the order of the file, which is the order of submission. Images are named by id, by file name, or by
file name without suffix; categories by id or by name. A text that is an id is taken for the id.
"""

from __future__ import annotations

import csv
import io
import json
import re
import warnings
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from referee.detections import ProblemList, inverted_box, is_known, shown
from referee.errors import RefereeError
from referee.scoring.columns import Detections
from testsets.ground_truth import GroundTruth

HEADER = "image,class,confidence,xmin,ymin,xmax,ymax"
_HEADERS = (HEADER.split(","), HEADER.replace("class", "category").split(","))
_BLACKLIST_HEADERS = (["image", "class"], ["image", "category"])
_NUMBER = re.compile(
    r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(nan|inf|infinity)", re.ASCII | re.IGNORECASE
)

Numbered = Iterator[tuple[int, list[str]]]


@dataclass(frozen=True)
class _Lookup:
    """The texts that name an image or a category of a ground truth, and their ids."""

    what: str
    ids: dict[str, int]

    def find(self, text: str) -> int:
        """Return the id of a text. Raises ValueError when nothing is called so."""
        found = self.ids.get(text)
        if found is None and _NUMBER.fullmatch(text):
            number = float(text)
            found = self.ids.get(str(int(number))) if number.is_integer() else None
        if found is None:
            raise ValueError(f"{self.what} {shown(text)} is unknown")
        return found


def read_detections(path: Path, ground_truth: GroundTruth) -> Detections:
    """Read a file of detections, whichever of the three forms it has.

    CSV has the header `image,class,confidence,xmin,ymin,xmax,ymax` (or `category`); without a header every
    line is seven values separated by blanks or commas; COCO results are a JSON array of {image_id,
    category_id, bbox, score}, whose boxes x, y, w, h become inclusive corners (xmax = x + w - 1). A header
    alone, or `[]`, is no detections; an empty file is an error.

    Raises `RefereeError` `bad-detections` for unknown images or categories, numbers that are not finite and
    inverted boxes, with the facts `file`, `problems` (at most 20 of {"line", "problem"}; in JSON the entry's
    number) and `total`; `unreadable-file` when there is nothing to read.
    """
    head = _head(path)
    if path.suffix.lower() == ".json" or head.lstrip()[:1] in ("[", "{"):
        return _read_coco(path, ground_truth)
    first = next((line for line in head.splitlines() if line.strip()), "")
    has_header = _cells(first) in _HEADERS
    if not has_header and not _looks_like_row(first):
        _refuse(path, f"line 1 is neither seven values nor the header {HEADER}: {shown(first)}")
    values = _plain_numbers(path, has_header, "," if "," in first else None)
    if values is not None and _all_good(values, ground_truth):
        return Detections.from_rows(values)
    lines = _csv_lines(path, _HEADERS) if has_header else _bare_lines(path)
    return _read_each(path, lines, ground_truth)


def read_blacklist(path: Path, ground_truth: GroundTruth) -> frozenset[tuple[int, int]]:
    """Read the (image id, category id) pairs of a CSV with the header `image,class`.

    The header alone is none. Raises `RefereeError` `bad-blacklist` or `unreadable-file`, as `read_detections`
    tells.
    """
    images, categories = _lookups(ground_truth)
    _head(path)
    problems = ProblemList()
    pairs: set[tuple[int, int]] = set()
    for line, cells in _csv_lines(path, _BLACKLIST_HEADERS):
        try:
            _check_length(cells, 2)
            pairs.add((images.find(cells[0]), categories.find(cells[1])))
        except ValueError as error:
            problems.add(line, str(error))
    _raise_if_any(path, problems, "bad-blacklist")
    return frozenset(pairs)


def _head(path: Path) -> str:
    try:
        with path.open("rb") as file:
            head = file.read(1 << 16)
    except OSError as error:
        _refuse(path, error.strerror or "cannot be read")
    if not head.strip():
        _refuse(path, "the file is empty")
    return head.decode("utf-8-sig", errors="replace")


def _cells(line: str) -> list[str]:
    return [cell.strip().strip('"') for cell in line.split(",")]


def _bare_cells(line: str) -> list[str]:
    return re.split(r"\s*,\s*|\s+", line.strip())


def _looks_like_row(line: str) -> bool:
    cells = _bare_cells(line)
    return len(cells) > 2 and any(_NUMBER.fullmatch(cell) for cell in cells)


def _plain_numbers(path: Path, has_header: bool, delimiter: str | None) -> NDArray[np.float64] | None:
    """Return rows (M, 7) when the file holds nothing but numbers, which numpy's C reader takes quickly."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a header alone "contained no data"
        try:
            values = np.loadtxt(
                path,
                delimiter=delimiter,
                comments=None,
                skiprows=int(has_header),
                ndmin=2,
                encoding="utf-8-sig",
            )
        except ValueError:  # names, quotes, blanks beside commas, or a mistake: read by line
            return None
    if values.size == 0:
        return np.empty((0, 7))
    return values if values.shape[1] == 7 else None


def _all_good(values: NDArray[np.float64], ground_truth: GroundTruth) -> bool:
    image, category, _, xmin, ymin, xmax, ymax = values.T
    return bool(
        np.isfinite(values).all()
        and not _has_misleading_names(ground_truth)
        and is_known(image, ground_truth.image_ids).all()
        and is_known(category, ground_truth.category_ids).all()
        and (xmin <= xmax).all()
        and (ymin <= ymax).all()
    )


def _has_misleading_names(ground_truth: GroundTruth) -> bool:
    # An image 3 called 000005.jpg: then 000005 is its name, and only reading by text keeps that apart from 5.
    stems = zip(ground_truth.image_ids.tolist(), map(_stem, ground_truth.image_names), strict=True)
    return any(stem.isdecimal() and int(stem) != id_ for id_, stem in stems)


def _stem(name: str) -> str:
    return name.rpartition(".")[0] or name


def _lookups(ground_truth: GroundTruth) -> tuple[_Lookup, _Lookup]:
    images = _names(ground_truth.image_ids, ground_truth.image_names)
    stems: dict[str, int | None] = {}
    for name, id_ in images.items():
        stems[_stem(name)] = id_ if _stem(name) not in stems else None
    unique = {stem: id_ for stem, id_ in stems.items() if id_ is not None}
    texts = {str(id_): id_ for id_ in ground_truth.image_ids.tolist()}
    categories = _names(ground_truth.category_ids, ground_truth.category_names)
    category_texts = {str(id_): id_ for id_ in ground_truth.category_ids.tolist()}
    return _Lookup("image", unique | images | texts), _Lookup("category", categories | category_texts)


def _names(ids: NDArray[np.int64], names: Iterable[str]) -> dict[str, int]:
    return {name: id_ for id_, name in zip(ids.tolist(), names, strict=True) if name}


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        _refuse(path, f"byte {error.start} is not UTF-8 text")


def _csv_lines(path: Path, headers: Iterable[list[str]]) -> Numbered:
    reader = csv.reader(io.StringIO(_text(path), newline=""), strict=True)
    try:
        header: list[str] | None = None
        for cells in reader:
            stripped = [cell.strip() for cell in cells]
            if not any(stripped):
                continue
            if header is None:
                header = stripped
                if header not in headers:
                    wanted = " or ".join(",".join(names) for names in headers)
                    _refuse(path, f"the header is {shown(','.join(header))}, not {wanted}")
            else:
                yield reader.line_num, stripped
    except csv.Error as error:
        _refuse(path, f"line {reader.line_num}: {error}")


def _bare_lines(path: Path) -> Numbered:
    for number, line in enumerate(_text(path).split("\n"), start=1):
        if line.strip():
            yield number, _bare_cells(line)


def _read_each(path: Path, lines: Numbered, ground_truth: GroundTruth) -> Detections:
    images, categories = _lookups(ground_truth)
    problems = ProblemList()
    rows = array("d")
    for line, cells in lines:
        try:
            _check_length(cells, 7)
            row = (images.find(cells[0]), categories.find(cells[1]), *_numbers(cells[2:]))
            _check_box(row)
            rows.extend(row)
        except ValueError as error:
            problems.add(line, str(error))
    _raise_if_any(path, problems, "bad-detections")
    return Detections.from_rows(np.array(rows, np.float64).reshape(-1, 7))


def _check_length(cells: list[str], wanted: int) -> None:
    if len(cells) != wanted:
        raise ValueError(f"a row is {wanted} values, this has {len(cells)}: {shown(','.join(cells))}")


def _numbers(cells: list[str]) -> list[float]:
    whole = "".join(cells)
    if whole.isascii() and "_" not in whole:  # float() takes 1_000 and other scripts' digits
        try:
            values = [*map(float, cells)]
            if all(map(isfinite, values)):
                return values
        except ValueError:
            pass
    return [_finite(cell) for cell in cells]


def _finite(text: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise ValueError(f"{shown(text)} is not a number")
    return _checked_finite(float(text), text)


def _checked_finite(value: float, source: object) -> float:
    if not isfinite(value):
        raise ValueError(f"{shown(source)} is not a finite number")
    return value


def _check_box(row: tuple[float, ...]) -> None:
    if row[5] < row[3] or row[6] < row[4]:
        raise ValueError(inverted_box(row))


def _read_coco(path: Path, ground_truth: GroundTruth) -> Detections:
    try:
        entries = json.loads(_text(path))
    except (ValueError, RecursionError) as error:
        _refuse(path, f"not JSON: {error}")
    if not isinstance(entries, list):
        _refuse(path, "COCO results are a JSON array of {image_id, category_id, bbox, score}")
    images, categories = set(ground_truth.image_ids.tolist()), set(ground_truth.category_ids.tolist())
    problems = ProblemList()
    rows = array("d")
    for number, entry in enumerate(entries, start=1):
        try:
            rows.extend(_coco_row(entry, images, categories))
        except KeyError as error:
            problems.add(number, f"{error} is missing")
        except ValueError as error:
            problems.add(number, str(error))
    _raise_if_any(path, problems, "bad-detections")
    return Detections.from_rows(np.array(rows, np.float64).reshape(-1, 7))


def _coco_row(entry: Any, images: set[int], categories: set[int]) -> tuple[float, ...]:
    if not isinstance(entry, dict):
        raise ValueError(f"{shown(entry)} is no object with image_id, category_id, bbox and score")  # noqa: TRY004
    image, category, bbox = entry["image_id"], entry["category_id"], entry["bbox"]
    if type(image) is not int or image not in images:
        raise ValueError(f"image_id {shown(image)} is unknown")
    if type(category) is not int or category not in categories:
        raise ValueError(f"category_id {shown(category)} is unknown")
    if not isinstance(bbox, list) or len(bbox) != 4:
        raise ValueError(f"bbox {shown(bbox)} is not four numbers")
    x, y, width, height = (_json_finite(value, "bbox") for value in bbox)
    if width < 0 or height < 0:
        raise ValueError(f"bbox {shown(bbox)} is inverted: its width or height is negative")
    return image, category, _json_finite(entry["score"], "score"), x, y, x + width - 1, y + height - 1


def _json_finite(value: object, what: str) -> float:
    if type(value) not in (int, float):
        raise ValueError(f"{what} {shown(value)} is not a number")
    try:
        return _checked_finite(float(value), value)  # type: ignore[arg-type]  # an int or a float
    except OverflowError:
        raise ValueError(f"{what} {shown(value)} is too large") from None


def _raise_if_any(path: Path, problems: ProblemList, code: str) -> None:
    if problems.total:
        line, problem = problems.first[0]
        others = f" (and {problems.total - 1} more problems)" if problems.total > 1 else ""
        facts = problems.as_facts()
        sentence = f"{path}: line {line}: {problem}{others}"
        raise RefereeError(code, sentence, file=str(path), problems=facts, total=problems.total)


def _refuse(path: Path, reason: str) -> NoReturn:
    raise RefereeError("unreadable-file", f"{path}: {reason}", file=str(path)) from None
