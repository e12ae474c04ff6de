"""The calibration that docs/scoring.md shows, small: the whole takes minutes."""

from __future__ import annotations

import numpy as np
import pytest

from bench.coverage import Population, calibration, compared, order_table
from bench.simulated import Scene, maps_of, scene
from lpirc_score import Detections
from lpirc_score.analysis.halves import half_maps, halves_of
from lpirc_testsets import GroundTruth

POPULATIONS = (
    Population(100, 20, is_even=True, reach=0.10),
    Population(60, 40, is_even=False, reach=0.12),
)


def with_boxes(found: Scene, categories: int) -> tuple[GroundTruth, Detections]:
    """The same with a box for each object and detection: a true one has that of an object, no other meets any."""
    (seen,) = found.teams
    count = len(found.image)
    left = {place: 100.0 * place for place in range(count)}
    free = {}
    for place, key in enumerate(
        zip(found.category.tolist(), found.image.tolist(), strict=True)
    ):
        free.setdefault(key, []).append(left[place])
    places = []
    for at, (category, image) in enumerate(
        zip(seen.category.tolist(), seen.image.tolist(), strict=True)
    ):
        places.append(
            free[category, image].pop() if seen.is_true[at] else 100.0 * (count + at)
        )
    own = boxes(np.array([*left.values()]))
    ids = [
        (np.arange(1, most + 1), ("",) * most) for most in (found.images, categories)
    ]
    no = np.zeros(count, np.bool_)
    truth = GroundTruth(
        *ids[0],
        *ids[1],
        found.image + 1,
        found.category + 1,
        own,
        no,
        no,
        own[:, 0],
        own,
    )
    return truth, Detections(
        seen.image + 1,
        seen.category + 1,
        seen.confidence,
        boxes(np.array(places)),
    )


def boxes(left: np.ndarray) -> np.ndarray:
    return np.column_stack([left, 0 * left, left + 49, 0 * left + 49])


@pytest.mark.parametrize("categories", [3, 30])
def test_the_simulation_has_the_maps_that_the_referee_finds(categories: int) -> None:
    found = scene(
        np.random.default_rng(7),
        50,
        np.full(categories, 1 / categories),
        np.array([0.6]),
    )
    expected = half_maps(*with_boxes(found, categories))
    assert maps_of(found, found.teams[0], halves_of(50)) == pytest.approx(
        expected,
        abs=1e-12,
    )


def test_what_is_stated_of_contests_is_right_as_often_as_stated() -> None:
    """With 150 contests a share is known to 2 or 3 points, so the limits are wider than those of the whole."""
    found = [calibration(population, 150, teams=3) for population in POPULATIONS]
    for one in found:
        held = {
            name: float(value.rstrip("%"))
            for name, value in one.intervals.items()
            if name.endswith("held")
        }
        assert 89 <= held["another set held"] <= 99
        assert 89 <= held["mean held"] <= 99
    every = [order for one in found for order in one.orders]
    figures = compared(every)
    stated, right = (float(figures[name].rstrip("%")) for name in ("stated", "right"))
    assert abs(stated - right) < 4
    assert order_table(found)[-1] == {"orders stated": "all"} | figures
