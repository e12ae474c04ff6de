from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.scoring import ordering
from referee.scoring.average_precision import area_under_envelope, best_precisions
from referee.scoring.ordering import ascending_codes, by_category, descending

PLACES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=40)
FEW = st.sampled_from([0.0, -0.0, 0.25, 0.5, -1.0, 1e-300, 1e300])


@given(st.lists(FEW | st.floats(allow_nan=False, allow_infinity=False)))
def test_descending_is_the_stable_order(values: list[float]) -> None:
    expected = sorted(range(len(values)), key=lambda place: -values[place])
    assert descending(np.array(values, float)).tolist() == expected


@pytest.mark.parametrize("limit", [1, 2, 65536, 65537, 2**32, 2**40])
def test_codes_of_any_width_are_sorted_stably(limit: int) -> None:
    codes = np.random.default_rng(1).integers(0, limit, 500)
    codes[::3] = limit - 1
    assert ascending_codes(codes, limit).tolist() == np.argsort(codes, kind="stable").tolist()


@given(PLACES, st.booleans())
def test_detections_are_listed_by_category_then_image_then_arrival(
    places: list[tuple[int, int]], with_image: bool
) -> None:
    image = np.array([one for one, _ in places], np.int32)
    category = np.array([two for _, two in places], np.int32)
    wanted = sorted(range(len(places)), key=lambda at: (category[at], image[at] if with_image else 0, at))
    with pytest.MonkeyPatch.context() as patch:
        for largest in (ordering.LARGEST_KEY, 0):  # one sort of packed keys; and where they would not fit
            patch.setattr(ordering, "LARGEST_KEY", largest)
            assert by_category(image if with_image else None, category, 5, 4).tolist() == wanted


def test_the_envelope_takes_the_best_of_what_follows() -> None:
    assert best_precisions(np.array([2, 3, 6])).tolist() == [2 / 3, 2 / 3, 0.5]


def test_the_area_is_a_share_of_all_objects() -> None:
    assert area_under_envelope(np.array([1, 2, 3]), 3) == 1.0
    assert area_under_envelope(np.array([1]), 4) == 0.25
    assert area_under_envelope(np.empty(0, np.int64), 4) == 0.0
