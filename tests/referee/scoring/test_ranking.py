from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from referee.scoring import ranking
from referee.scoring.ranking import by_category

PLACES = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=40)


@given(PLACES, st.booleans())
def test_detections_are_listed_by_category_then_image_then_arrival(
    places: list[tuple[int, int]], with_image: bool
) -> None:
    image = np.array([one for one, _ in places], np.int32)
    category = np.array([two for _, two in places], np.int32)
    wanted = sorted(range(len(places)), key=lambda at: (category[at], image[at] if with_image else 0, at))
    with pytest.MonkeyPatch.context() as patch:
        for largest in (ranking.LARGEST_KEY, 0):  # one sort of packed keys; and where they would not fit
            patch.setattr(ranking, "LARGEST_KEY", largest)
            assert by_category(image if with_image else None, category, 5, 4).tolist() == wanted
