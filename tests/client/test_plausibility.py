"""What the client says of rows, beside what the referee says of the same rows."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_client.errors import AnswerError, ClientError
from lpirc_client.plausibility import doubts, jpeg_size
from lpirc_client.rows import checked
from lpirc_score.detections import parse_detections
from lpirc_score.detections.plausibility import ABOVE_1, implausible
from lpirc_testsets.shapes import kinds
from lpirc_testsets.synthetic import render
from referee.errors import BadRows

SIZE = (96, 64)
CATEGORIES = {1: "red-disc", 7: "blue-bar"}
REFUSED = "refused"
LIMITS = np.array([[0] * 5, [1, *SIZE, -ABOVE_1, -ABOVE_1]])

edges = (
    st.floats(-200, 200)
    | st.floats(-0.5, 1.5)
    | st.integers(0, 100)
    | st.sampled_from([0, 1, 64, 96, 97])
)
strange = st.sampled_from([float("nan"), float("inf")])
ids = st.sampled_from([1, 7, 7.0, 1.0]) | st.sampled_from([0, 2, 1.5, "red-disc", None])
rows = st.tuples(
    ids,
    st.floats(-2, 100) | strange,
    edges,
    edges,
    edges,
    edges | strange,
)


def said_by_the_referee(row: Any) -> set[str]:
    body = (
        json.dumps([[1, *row]])
        .replace("NaN", '"NaN"')
        .replace("Infinity", "1e999")
        .encode()
    )
    try:
        values = parse_detections(body, "application/json", 1, np.array([1, 7]))
    except BadRows:
        return {REFUSED}
    found = implausible(values, LIMITS)
    told = {
        "a box of fractions": found.in_unit_square,
        "the confidence": found.above_1 + found.below_0,
        "a box outside its image": found.outside,
    }
    return {kind for kind, count in told.items() if count}


def said_by_the_client(row: Any) -> set[str]:
    try:
        good = checked(1, [row], CATEGORIES)[1:]
    except AnswerError:
        return {REFUSED}
    return {what for what, _, _ in doubts(good, SIZE)}


@given(rows | rows.map(lambda row: row[:5]) | rows.map(lambda row: (*row, 1)))
def test_the_client_refuses_and_warns_of_what_the_referee_does(row: Any) -> None:
    assert said_by_the_client(row) == said_by_the_referee(row)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ((1, 0.5, 1, 2, 30, 40), []),
        ((1, 0.5, -1, 2, 130, 40), []),
        ((1, 87.5, 1, 2, 30, 40), [("the confidence", "87.5", "0 to 1, not percent")]),
        ((1, -0.5, 1, 2, 30, 40), [("the confidence", "-0.5", "0 to 1")]),
        (
            (1, 0.5, 0.1, 0.2, 0.3, 0.4),
            [
                (
                    "a box of fractions",
                    "0.1, 0.2, 0.3, 0.4",
                    "pixels of an image of 96 x 64",
                )
            ],
        ),
        (
            (1, 0.5, 100, 2, 130, 40),
            [
                (
                    "a box outside its image",
                    "100, 2, 130, 40",
                    "pixels of an image of 96 x 64",
                )
            ],
        ),
    ],
)
def test_each_doubt_has_its_value_and_what_was_expected(row: Any, told: Any) -> None:
    assert list(doubts(row, SIZE)) == told


def test_a_jpegs_size_is_read_from_its_header() -> None:
    jpeg, _ = render(1, kinds()[:3], 1, (96, 64))
    assert jpeg_size("a.jpg", jpeg) == (96, 64)
    with_fill_bytes_and_a_comment = jpeg[:2] + b"\xff\xff\xff\xfe\x00\x05abc" + jpeg[2:]
    assert jpeg_size("a.jpg", with_fill_bytes_and_a_comment) == (96, 64)


@pytest.mark.parametrize(
    "content",
    [b"", b"\xff\xd8", b"\x89PNG\r\n\x1a\n" + bytes(40), b"\xff\xd8\xff\xe0\x00\x02ab"],
)
def test_what_is_no_jpeg_is_named(content: bytes) -> None:
    with pytest.raises(ClientError, match=r"a\.png: not a JPEG file"):
        jpeg_size("a.png", content)
