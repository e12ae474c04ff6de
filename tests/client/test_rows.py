"""Rows as detectors return them: checked, packed, and what is said of a bad one."""

from __future__ import annotations

import json
import math
import struct
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_client.errors import AnswerError
from lpirc_client.rows import JSON_TYPE, PACKED_TYPE, body_of, checked
from tests.client.referee_double import rows_of

CATEGORIES = {7: "red-disc", 9: "blue-bar"}
GOOD = (7, 0.5, 1, 2, 3, 4)


@pytest.mark.parametrize(
    "found",
    [
        [GOOD, GOOD],
        (GOOD, list(GOOD)),
        np.array([GOOD, GOOD]),
        np.array([GOOD, GOOD], np.float32),
        [(np.int64(7), np.float32(0.5), *np.arange(1, 5)), GOOD],
        iter([GOOD, GOOD]),
    ],
)
def test_lists_and_arrays_are_the_same_rows(found: Any) -> None:
    assert checked(3, found, CATEGORIES).tolist() == [3, *GOOD, 3, *GOOD]


@pytest.mark.parametrize("nothing", [[], (), np.empty((0, 6)), iter(())])
def test_nothing_found_is_no_row(nothing: Any) -> None:
    assert not checked(3, nothing, CATEGORIES)


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            None,
            "image 12: the answer is None; expected rows, [] where nothing is found",
        ),
        ("text", "image 12: the answer is 'text'; expected rows"),
        (
            [GOOD, GOOD[:5]],
            "image 12, row 2: the row is (7, 0.5, 1, 2, 3); expected six numbers: category, confidence, ",
        ),
        (
            np.zeros((1, 7)),
            "image 12, row 1: the row is [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]; expected six numbers",
        ),
        ([None], "image 12, row 1: the row is None; expected six numbers"),
        (
            [("blue-bar", *GOOD[1:])],
            "row 1: category is the name 'blue-bar'; expected its id, 9",
        ),
        (
            [(8, *GOOD[1:])],
            "row 1: category is 8; expected an id: 7 (red-disc), 9 (blue-bar)",
        ),
        ([(7.5, *GOOD[1:])], "row 1: category is 7.5; expected an id"),
        (
            [(7, math.nan, 1, 2, 3, 4)],
            "row 1: confidence is nan; expected a finite number",
        ),
        (
            [(7, "0.5", 1, 2, 3, 4)],
            "row 1: confidence is '0.5'; expected a finite number",
        ),
        ([(7, 0.5, 1, 2, 1e39, 4)], "row 1: xmax is 1e+39; expected a finite number"),
        ([(7, 0.5, 10**400, 2, 1, 4)], "row 1: xmin is 1000"),
        (
            [(7, 0.5, 30, 2, 3, 4)],
            "row 1: the box is 30, 2, 3, 4; expected xmin <= xmax and ymin <= ymax",
        ),
    ],
)
def test_a_bad_row_is_named_with_its_value_and_what_was_expected(
    found: Any,
    sentence: str,
) -> None:
    with pytest.raises(AnswerError) as caught:
        checked(12, found, CATEGORIES)
    assert sentence in caught.value.sentence


numbers = st.floats(-1e6, 1e6, width=32)


@given(
    st.lists(
        st.tuples(st.sampled_from(sorted(CATEGORIES)), numbers, numbers, numbers),
        max_size=5,
    )
)
def test_both_bodies_hold_the_same_rows(
    found: list[tuple[int, float, float, float]],
) -> None:
    rows = checked(
        3,
        [(category, score, x, y, x, y) for category, score, x, y in found],
        CATEGORIES,
    )
    packed, kind = body_of(rows, is_packed=True)
    text, other = body_of(rows, is_packed=False)
    assert kind == PACKED_TYPE
    assert other == JSON_TYPE
    assert len(packed) == 28 * len(found)
    assert rows_of(packed) == json.loads(text) if found else packed == b""


def test_json_keeps_what_a_float32_rounds() -> None:
    rows = checked(3, [(7, 0.1, 1, 2, 3, 4)], CATEGORIES)
    assert json.loads(body_of(rows, is_packed=False)[0]) == [[3, 7, 0.1, 1, 2, 3, 4]]
    assert struct.unpack("<7f", body_of(rows, is_packed=True)[0])[2] != 0.1


def test_numbers_in_arrays_of_one_are_numbers() -> None:
    one = [np.array(7), np.array(0.5), np.array([1.0]), 2.0, np.float32(3), np.int64(4)]
    assert list(checked(12, [one], {7: "red"})) == [12, 7, 0.5, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "row",
    [
        (np.array([7, 8]), 0.5, 1, 2, 3, 4),
        (7, Decimal("NaN"), 1, 2, 3, 4),
        (7, 0.5, np.zeros(2), 2, 3, 4),
    ],
)
def test_a_value_that_cannot_be_compared_is_named_like_any_other(row: object) -> None:
    with pytest.raises(AnswerError, match="image 12, row 1: "):
        checked(12, [row], {7: "red"})
