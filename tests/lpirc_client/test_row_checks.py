"""What `check` says of rows, beside what the referee says of the same rows."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_client.errors import ClientError
from lpirc_client.row_checks import REFUSED, jpeg_size, problems_of
from lpirc_client.wire import Category
from lpirc_testsets.shapes import kinds
from lpirc_testsets.synthetic import render
from referee.detections import parse_detections
from referee.detections.plausibility import ABOVE_1, implausible
from referee.errors import BadRows

SIZE = (96, 64)
CATEGORIES = (Category(1, "red-disc"), Category(7, "blue-bar"))
LIMITS = np.array([[0] * 5, [1, *SIZE, -ABOVE_1, -ABOVE_1]])

edges = (
    st.floats(-200, 200) | st.floats(-0.5, 1.5) | st.integers(0, 100) | st.sampled_from([0, 1, 64, 96, 97])
)
strange = st.sampled_from([float("nan"), float("inf")])
ids = st.sampled_from([1, 7, 7.0, 1.0]) | st.sampled_from([0, 2, 1.5, "red-disc", None])
rows = st.tuples(ids, st.floats(-2, 100) | strange, edges, edges, edges, edges | strange)


def said_by_the_referee(row: Any) -> set[str]:
    body = json.dumps([[1, *row]]).replace("NaN", '"NaN"').replace("Infinity", "1e999").encode()
    try:
        values = parse_detections(body, "application/json", 1, np.array([1, 7]))
    except BadRows:
        return {REFUSED}
    found = implausible(values, LIMITS)
    told = {
        "box within 0..1": found.in_unit_square,
        "confidence above 1": found.above_1,
        "box outside its image": found.outside,
    }
    return {kind for kind, count in told.items() if count}


@given(rows | rows.map(lambda row: row[:5]) | rows.map(lambda row: (*row, 1)))
def test_it_refuses_and_warns_of_what_the_referee_does(row: Any) -> None:
    problems = list(problems_of(row, CATEGORIES, SIZE))
    is_refused = any(one.weight == REFUSED for one in problems)
    said = {REFUSED} if is_refused else {one.kind for one in problems}
    assert said == said_by_the_referee(row)


@pytest.mark.parametrize(
    ("row", "kind", "expected"),
    [
        (("red-disc", 0.5, 1, 2, 3, 4), "name for a category id", "1, the id of that name"),
        (("cat", 0.5, 1, 2, 3, 4), "name for a category id", "an id"),
        ((3, 0.5, 1, 2, 3, 4), "unknown category", "an id: 1, 7"),
        ((1, 87.5, 1, 2, 30, 40), "confidence above 1", "0 to 1, not percent"),
        ((1, 0.5, 0.1, 0.2, 0.3, 0.4), "box within 0..1", "pixels of an image of 96 x 64"),
        ((1, 0.5, 100, 2, 130, 40), "box outside its image", "pixels of an image of 96 x 64"),
        ((1, 0.5, 40, 10, 20, 30), "inverted box: x, y, w, h?", "xmin <= xmax and ymin <= ymax"),
        ((1, 0.5, 90, 60, 20, 30), "inverted box: swapped?", "xmin <= xmax and ymin <= ymax"),
        (
            (1, 0.5, 40, 30, 20, 10),
            "inverted box: swapped, or x, y, w, h?",
            "xmin <= xmax and ymin <= ymax",
        ),
        ((1, 0.5, 60, 10, 50, 30), "inverted box", "xmin <= xmax and ymin <= ymax"),
        ((1, 0.5, (1, 2, 3, 4)), "not six numbers", "category id, confidence, xmin, ymin, xmax, ymax"),
        ((1, 0.5, 1, 2, 3, 10**400), "not six numbers", "category id, confidence, xmin, ymin, xmax, ymax"),
        (0.5, "not six numbers", "category id, confidence, xmin, ymin, xmax, ymax"),
    ],
)
def test_each_mistake_is_named_with_what_was_expected(row: Any, kind: str, expected: str) -> None:
    (problem,) = problems_of(row, CATEGORIES, SIZE)
    assert (problem.kind, problem.expected) == (kind, expected)


def test_a_row_of_numpy_is_as_good_as_one_of_python() -> None:
    row = np.array([7, 0.5, 1, 2, 3, 4], np.float32)
    assert list(problems_of(row, CATEGORIES, SIZE)) == []


def test_without_categories_any_whole_number_is_an_id() -> None:
    assert list(problems_of((999, 0.5, 1, 2, 3, 4), (), SIZE)) == []
    assert [one.weight for one in problems_of((1.5, 0.5, 1, 2, 3, 4), (), SIZE)] == [REFUSED]


def test_a_jpegs_size_is_read_from_its_header() -> None:
    jpeg, _ = render(1, kinds()[:3], 1, (96, 64))
    assert jpeg_size("a.jpg", jpeg) == (96, 64)
    with_fill_bytes_and_a_comment = jpeg[:2] + b"\xff\xff\xff\xfe\x00\x05abc" + jpeg[2:]
    assert jpeg_size("a.jpg", with_fill_bytes_and_a_comment) == (96, 64)


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xd8", b"\x89PNG\r\n\x1a\n" + bytes(40), b"\xff\xd8\xff\xe0\x00\x02ab"]
)
def test_what_is_no_jpeg_is_named(content: bytes) -> None:
    with pytest.raises(ClientError, match=r"a\.png: not a JPEG file"):
        jpeg_size("a.png", content)
