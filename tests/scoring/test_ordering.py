from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_score.metrics.average_precision import area_under_envelope, best_precisions
from lpirc_score.metrics.ordering import ascending_codes, by_digits, descending

FEW = st.sampled_from([0.0, -0.0, 0.25, 0.5, -1.0, 1e-300, 1e300])


@given(st.lists(FEW | st.floats(allow_nan=False, allow_infinity=False)))
def test_descending_is_the_stable_order(values: list[float]) -> None:
    expected = sorted(range(len(values)), key=lambda place: -values[place])
    assert descending(np.array(values, float)).tolist() == expected


def test_values_that_differ_in_their_last_bits_are_told_apart() -> None:
    chance = np.random.default_rng(0)
    values = np.append(1.0 + chance.integers(0, 50, 5000) * 2.0**-52, [1e300, -1e300])
    values = chance.permutation(np.append(values, chance.random(5000)))
    assert descending(values).tolist() == np.argsort(-values, kind="stable").tolist()


@given(st.lists(st.integers(0, 2**34)))
@pytest.mark.parametrize("limit", [2**34 + 1, 2**62])
def test_codes_are_sorted_stably_whether_a_key_holds_them_or_not(
    limit: int,
    codes: list[int],
) -> None:
    array = np.array(codes, np.int64)
    expected = np.argsort(array, kind="stable")
    order, ordered = ascending_codes(array.copy(), limit)
    assert order.tolist() == expected.tolist()
    assert ordered.tolist() == array[expected].tolist()


@pytest.mark.parametrize("bits", [0, 1, 8, 9, 16, 17, 24, 33, 62])
def test_every_width_of_digits_gives_the_stable_order(bits: int) -> None:
    keys = np.random.default_rng(bits).integers(0, 1 << bits, 300)
    keys = np.concatenate([keys, keys[::-1], keys[:7]])
    assert by_digits(keys, bits).tolist() == np.argsort(keys, kind="stable").tolist()


def test_the_envelope_takes_the_best_of_what_follows() -> None:
    assert best_precisions(np.array([2, 3, 6])).tolist() == [2 / 3, 2 / 3, 0.5]


def test_the_area_is_a_share_of_all_objects() -> None:
    assert area_under_envelope(np.array([1, 2, 3]), 3) == 1.0
    assert area_under_envelope(np.array([1]), 4) == 0.25
    assert area_under_envelope(np.empty(0, np.int64), 4) == 0.0
