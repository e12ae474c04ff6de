from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.runs.image_order import image_order

SECRETS = st.binary(min_size=32, max_size=32)
RUNS = st.integers(1, 10**9)
SECRET = bytes(32)


@given(SECRETS, RUNS, st.integers(0, 500))
def test_every_image_comes_exactly_once(secret: bytes, run: int, images: int) -> None:
    order = image_order(secret, run, images, shuffle=True)
    assert order.dtype == np.int64
    assert sorted(order.tolist()) == list(range(1, images + 1))


@given(SECRETS, RUNS, st.integers(0, 500))
def test_without_shuffling_every_image_keeps_its_number(secret: bytes, run: int, images: int) -> None:
    order = image_order(secret, run, images, shuffle=False)
    assert order.tolist() == list(range(1, images + 1))


@given(SECRETS, RUNS)
def test_the_same_run_has_the_same_order(secret: bytes, run: int) -> None:
    first, again = (image_order(secret, run, 50, shuffle=True) for _ in range(2))
    assert first.tolist() == again.tolist()


@given(SECRETS, SECRETS, RUNS)
def test_another_secret_gives_another_order(one: bytes, other: bytes, run: int) -> None:
    orders = [image_order(secret, run, 100, shuffle=True).tolist() for secret in (one, other)]
    assert (orders[0] == orders[1]) == (one == other)


def test_each_run_has_its_own_order() -> None:
    orders = [image_order(SECRET, run, 100, shuffle=True).tolist() for run in range(1, 60)]
    assert all(one != other for one, other in combinations(orders, 2))


def test_the_places_of_an_image_are_spread_evenly() -> None:
    places = [image_order(SECRET, run, 10, shuffle=True).tolist().index(1) for run in range(2000)]
    counts = np.bincount(places, minlength=10)
    assert float(((counts - 200) ** 2 / 200).sum()) < 30.0  # chi square, 9 degrees of freedom: one in 2000


@pytest.mark.parametrize("images", [0, 1])
def test_there_can_be_one_image_or_none(images: int) -> None:
    assert image_order(SECRET, 1, images, shuffle=True).tolist() == [1][:images]
