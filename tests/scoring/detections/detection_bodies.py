"""The same rows as a body of each kind, and how a patient reader reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import urlencode

import numpy as np
import pytest

from lpirc_score.detections import numbers, text_body

JSON = "application/json"
TEXT = "text/plain"
FORM = "application/x-www-form-urlencoded"
PACKED = "application/octet-stream"
FIELDS = ("image_name", "CLASS_ID", "confidence", "xmin", "ymin", "xmax", "ymax")


def form(rows: Sequence[Sequence[object]], **more: str) -> bytes:
    lists = {name: [str(row[at]) for row in rows] for at, name in enumerate(FIELDS)}
    return urlencode(more | lists, doseq=True).encode()


def bodies(rows: Sequence[Sequence[float]]) -> dict[str, bytes]:
    text = "".join(" ".join(map(str, row)) + "\n" for row in rows)
    packed = np.array(rows, "<f4").tobytes()
    return {
        JSON: json.dumps(rows).encode(),
        TEXT: text.encode(),
        FORM: form(rows),
        PACKED: packed,
    }


@contextmanager
def small_pieces(size: int = 40) -> Iterator[None]:
    """Let bodies be read in pieces of so few bytes that every test has several."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (numbers, text_body):
            patch.setattr(module, "PIECE_BYTES", size)
        patch.setattr(text_body, "_LONGEST_PIECE", 1000)
        yield


def number(token: str) -> float:
    if not token.isascii() or "_" in token:
        raise ValueError(token)
    return float(token)


def read_text(body: bytes) -> list[list[float]] | None:
    """The rows of a text, one number at a time; None when something is wrong with it."""
    found = []
    for line in body.splitlines():
        stripped = line.decode(errors="replace").strip()
        if stripped:
            try:
                found.append(
                    [number(token) for token in re.split(r"\s*,\s*|\s+", stripped)]
                )
            except ValueError:
                return None
    return found if all(len(row) == 7 for row in found) else None


def read_json(body: bytes) -> list[list[float]] | None:
    try:
        found = json.loads(body.decode())
        plain = isinstance(found, list) and all(
            type(x) in (int, float) for row in found for x in row
        )
        return (
            [[*map(float, row)] for row in found]
            if plain and all(len(r) == 7 for r in found)
            else None
        )
    except (ValueError, TypeError, RecursionError, OverflowError):
        return None
