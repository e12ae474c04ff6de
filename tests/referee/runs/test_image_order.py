from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from referee.runs.image_order import image_order

SECRETS = st.binary(min_size=32, max_size=32)
NONCES = st.text("0123456789abcdef", min_size=32, max_size=32)
SECRET = bytes(32)


def order_of(
    secret: bytes,
    nonce: str,
    images: int,
    *,
    shuffle: bool = True,
) -> list[int]:
    """The order of a run that gets every image of the set."""
    return image_order(
        secret,
        nonce,
        np.zeros(images, np.int64),
        images,
        shuffle=shuffle,
    ).tolist()


@given(SECRETS, NONCES, st.integers(0, 500))
def test_every_image_comes_exactly_once(
    secret: bytes,
    nonce: str,
    images: int,
) -> None:
    order = image_order(secret, nonce, np.zeros(images, np.int64), images, shuffle=True)
    assert order.dtype == np.int64
    assert sorted(order.tolist()) == list(range(1, images + 1))


@given(SECRETS, NONCES, st.integers(0, 500))
def test_without_shuffling_every_image_keeps_its_number(
    secret: bytes,
    nonce: str,
    images: int,
) -> None:
    assert order_of(secret, nonce, images, shuffle=False) == list(range(1, images + 1))


@given(SECRETS, NONCES)
def test_the_same_run_has_the_same_order(secret: bytes, nonce: str) -> None:
    assert order_of(secret, nonce, 50) == order_of(secret, nonce, 50)


@given(SECRETS, SECRETS, NONCES, NONCES)
def test_another_secret_or_nonce_gives_another_order(
    one: bytes,
    other: bytes,
    nonce: str,
    later: str,
) -> None:
    assert (order_of(one, nonce, 100) == order_of(other, nonce, 100)) == (one == other)
    assert (order_of(one, nonce, 100) == order_of(one, later, 100)) == (nonce == later)


def test_each_run_has_its_own_order() -> None:
    orders = [order_of(SECRET, str(run), 100) for run in range(1, 60)]
    assert all(one != other for one, other in combinations(orders, 2))


def test_the_places_of_an_image_are_spread_evenly() -> None:
    places = [order_of(SECRET, str(run), 10).index(1) for run in range(2000)]
    counts = np.bincount(places, minlength=10)
    # Chi square, 9 degrees of freedom: one in 2000.
    assert float(((counts - 200) ** 2 / 200).sum()) < 30.0


@pytest.mark.parametrize("images", [0, 1])
def test_there_can_be_one_image_or_none(images: int) -> None:
    assert order_of(SECRET, "1", images) == [1][:images]


HAD = st.lists(st.integers(0, 4), min_size=1, max_size=60).map(
    lambda times: np.array(times, np.int64)
)


@given(SECRETS, NONCES, HAD, st.data(), st.booleans())
def test_a_part_of_the_set_is_of_the_images_that_the_team_has_had_least(
    secret: bytes,
    nonce: str,
    times_had: NDArray[np.int64],
    data: st.DataObject,
    shuffle: bool,
) -> None:
    images = data.draw(st.integers(1, len(times_had)))
    order = image_order(secret, nonce, times_had, images, shuffle=shuffle)
    assert order.shape == (images,)
    assert len(set(order.tolist())) == images
    assert sorted(times_had[order - 1]) == sorted(times_had)[:images]
    assert shuffle or order.tolist() == sorted(order.tolist())


def test_every_image_is_drawn_equally_often() -> None:
    drawn = Counter(
        number
        for run in range(2000)
        for number in image_order(
            SECRET,
            str(run),
            np.zeros(10, np.int64),
            3,
            shuffle=True,
        ).tolist()
    )
    counts = np.array([drawn[number] for number in range(1, 11)])
    assert float(((counts - 600) ** 2 / 600).sum()) < 30.0


def test_the_order_does_not_tell_which_images_the_team_has_had() -> None:
    had = np.array([0] * 5 + [1] * 5)
    firsts = [
        had[image_order(SECRET, str(run), had, 10, shuffle=True)[0] - 1]
        for run in range(200)
    ]
    assert 60 < sum(firsts) < 140
