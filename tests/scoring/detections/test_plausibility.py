from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_score.detections.plausibility import (
    ABOVE_1,
    PLAUSIBLE,
    Implausible,
    implausible,
)

LEAST = (-ABOVE_1, -ABOVE_1)
LIMITS = np.array([[0] * 5, [1, 640, 480, *LEAST], [1, 96, 64, *LEAST]])
GOOD = [1, 3, 0.5, 10, 20, 30, 40]


def look(*rows: list[float]) -> Implausible:
    return implausible(np.array(rows, float).reshape(-1, 7), LIMITS)


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ([1, 3, 0.5, 0.1, 0.2, 0.9, 1.0], Implausible(2, in_unit_square=1)),
        ([1, 3, 87.5, 10, 20, 30, 40], Implausible(2, above_1=1)),
        ([1, 3, -0.5, 10, 20, 30, 40], Implausible(2, below_0=1)),
        ([2, 3, 0.5, 97, 10, 120, 20], Implausible(2, outside=1, first_outside=2)),
        ([2, 3, 0.5, 10, 65, 20, 70], Implausible(2, outside=1, first_outside=2)),
        ([1, 3, 0.5, -20, 5, -1, 20], Implausible(2, outside=1, first_outside=1)),
        ([1, 3, 0.5, 5, -20, 20, -1], Implausible(2, outside=1, first_outside=1)),
        (
            [2, 3, 2.0, 200, 300, 400, 500],
            Implausible(2, above_1=1, outside=1, first_outside=2),
        ),
    ],
)
def test_each_kind_is_counted_and_told_in_a_sentence(
    row: list[float],
    found: Implausible,
) -> None:
    assert look(GOOD, row) == found
    kinds = (found.in_unit_square, found.above_1, found.below_0, found.outside)
    assert len(found.warnings) == sum(map(bool, kinds))
    assert len(found.sentences) == sum(map(bool, kinds)) - bool(found.below_0)
    assert all(sentence.startswith("1 of 2 ") for sentence in found.warnings)


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [GOOD],
        [[1, 3, 0.0, 10, 20, 30, 40]],
        [[1, 3, 1.0, -5, -5, 700, 500]],  # reaches beyond the image on every side
        [[2, 3, 0.5, 96, 64, 96, 64]],  # its last pixel, as those count who begin at 1
        [[1, 3, 0.5, 0, 0, 1, 5]],
        [[1, 3, 0.5, -1, -1, 1, 1]],
    ],
)
def test_what_is_plausible_is_told_so(rows: list[list[float]]) -> None:
    found = look(*rows)
    assert found.warnings == []
    assert found in (PLAUSIBLE, Implausible(len(rows)))


numbers = st.floats(-800, 800) | st.floats(-1, 2)
row = st.tuples(
    st.integers(1, 2),
    st.just(1),
    st.floats(-2, 100),
    numbers,
    numbers,
    numbers,
    numbers,
)


@given(st.lists(row, max_size=6))
def test_the_passes_over_all_rows_count_what_a_look_at_each_row_counts(
    rows: list[tuple[float, ...]],
) -> None:
    valid = [
        [*r[:3], min(r[3], r[5]), min(r[4], r[6]), max(r[3], r[5]), max(r[4], r[6])]
        for r in rows
    ]
    found = look(*valid)
    outside = [
        r
        for r in valid
        if r[5] < 0 or r[6] < 0 or (r[3:5] > LIMITS[int(r[0]), 1:3]).any()
    ]
    assert found.outside == len(outside)
    assert found.above_1 == sum(r[2] > 1 for r in valid)
    assert found.below_0 == sum(r[2] < 0 for r in valid)
    assert found.in_unit_square == sum(
        all(0 <= value <= 1 for value in r[3:]) for r in valid
    )
