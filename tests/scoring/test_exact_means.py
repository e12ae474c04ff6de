from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_score.metrics.exact_means import exact_means

SHARES = st.floats(0, 1) | st.sampled_from(
    [0.0, 1.0, 1 / 3, 2**-52, 5e-324, 1 - 2**-53]
)
ROWS = st.lists(st.lists(SHARES, min_size=5, max_size=5), min_size=1, max_size=6)


def one_by_one(values: np.ndarray) -> list[float]:
    return [math.fsum(row) / len(row) for row in values.tolist()]


@given(ROWS)
def test_means_are_those_of_fsum_to_the_last_bit(rows: list[list[float]]) -> None:
    values = np.array(rows)
    assert exact_means(values) == one_by_one(values)


@pytest.mark.parametrize("longest", [3, 300, 2_000_000])
def test_precisions_are_added_exactly(longest: int) -> None:
    chance = np.random.default_rng(longest)
    ranks = chance.integers(1, longest, (40, 1010))
    values = chance.integers(0, ranks + 1) / (ranks + np.spacing(1.0))
    assert exact_means(values) == one_by_one(values)


@pytest.mark.parametrize("odd", [-0.25, 1.5, 1e300, 2.0**-80])
def test_values_that_are_no_shares_are_added_one_by_one(odd: float) -> None:
    values = np.array([[0.1, 0.2, 0.3], [0.7, odd, 0.1]])
    assert exact_means(values) == one_by_one(values)


def test_a_row_that_is_not_known_has_no_mean_and_spoils_no_other() -> None:
    first, second = exact_means(np.array([[math.nan, 0.5], [0.1, 0.2]]))
    assert math.isnan(first)
    assert second == math.fsum([0.1, 0.2]) / 2
