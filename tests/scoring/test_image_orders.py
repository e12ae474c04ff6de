"""The mAPs in other orders of the images are those of runs that answered them in these orders."""

from __future__ import annotations

import numpy as np

from lpirc_score import evaluate
from lpirc_score.analysis.image_orders import (
    ORDERS,
    _answered_by,
    maps_in_other_orders,
)
from lpirc_score.metrics.offered import rule_named
from tests.referee.judging.simulated_stops import IMAGES, answered

MOMENTS = 4


def test_each_map_is_that_of_the_images_answered_by_then() -> None:
    run = answered(3)
    since = np.arange(IMAGES) % MOMENTS
    since[:7] = MOMENTS  # never answered
    is_there = np.isin(run.found.image - 1, np.flatnonzero(since < MOMENTS))
    found = run.found.of_rows(is_there)
    for name in ("lpirc", "voc-11"):
        maps = maps_in_other_orders(
            run.truth,
            found,
            since,
            MOMENTS,
            rule_named(name),
        )
        assert maps.shape == (MOMENTS, ORDERS)
        here = _answered_by(since, MOMENTS, ORDERS).reshape(IMAGES + 1, MOMENTS, -1)
        assert not here[:7].any()
        for moment in range(MOMENTS):
            for order in (0, 17):
                part = found.of_rows(here[found.image - 1, moment, order])
                reached = evaluate(run.truth, part, name).map
                assert abs(maps[moment, order] - reached) < 1e-12
        assert (maps[-1] == maps[-1, 0]).all()


def test_each_order_answers_as_many_images_at_each_moment() -> None:
    since = np.array([0, 0, 1, 2, 9, 1])
    here = _answered_by(since, 3, 50).reshape(7, 3, 50)
    assert here[:-1].sum(axis=0).T.tolist() == [[2, 4, 5]] * 50
    assert here[-1].all()
    assert not here[4].any()


def test_many_rows_have_fewer_orders() -> None:
    run = answered(4)
    maps = maps_in_other_orders(
        run.truth, run.found, np.zeros(IMAGES, np.int64), 10_000, rule_named("lpirc")
    )
    assert maps.shape[1] < ORDERS
