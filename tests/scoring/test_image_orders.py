"""The mAPs in other orders of the images are those of runs that answered them in these orders."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from lpirc_score import evaluate
from lpirc_score.analysis import image_orders
from lpirc_score.analysis.halves import (
    category_average,
    mean_of_categories,
    ranked_images,
)
from lpirc_score.analysis.image_orders import (
    ORDERS,
    _since,
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
        in_orders = _since(since, MOMENTS, ORDERS)
        assert (in_orders[:, :7] == MOMENTS).all()
        for moment in range(MOMENTS):
            for order in (0, 17):
                part = found.of_rows(in_orders[order, found.image - 1] <= moment)
                reached = evaluate(run.truth, part, name).map
                assert abs(maps[moment, order] - reached) < 1e-12
        assert (maps[-1] == maps[-1, 0]).all()


def test_each_order_answers_as_many_images_at_each_moment() -> None:
    since = np.array([0, 0, 1, 2, 9, 1])
    in_orders = _since(since, 3, 50)
    by_then = in_orders[:, None] <= np.arange(3)[:, None]
    assert by_then.sum(axis=2).tolist() == [[2, 4, 5]] * 50
    assert (in_orders[:, 4] == 3).all()


def test_the_maps_are_to_the_bit_those_of_the_images_marked_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Counting by section is faster than marking each row at each moment, and no figure may differ by it."""
    run = answered(5)
    since = np.arange(IMAGES) % (MOMENTS + 1)
    in_orders = _since(since, MOMENTS, ORDERS)
    by_then = in_orders[:, None] <= np.arange(MOMENTS)[:, None]
    here = np.moveaxis(by_then, 2, 0).reshape(IMAGES, -1)
    of_all = np.ones((1, here.shape[1]), np.bool_)
    for name in ("lpirc", "voc-11"):
        rule = rule_named(name)
        ranked = ranked_images(run.truth, run.found, rule, frozenset(), None)
        averages = [
            category_average(
                replace(one, object_images=np.full_like(one.object_images, IMAGES)),
                rule,
                np.concatenate([here, of_all]),
            )
            for one in ranked
        ]
        marked = mean_of_categories(np.array(averages)).reshape(-1, MOMENTS).T
        for at_once in (1, 5000, 1 << 18):
            monkeypatch.setattr(image_orders, "_CELLS_AT_ONCE", at_once)
            counted = maps_in_other_orders(run.truth, run.found, since, MOMENTS, rule)
            assert (counted == marked).all()


def test_many_rows_have_fewer_orders() -> None:
    run = answered(4)
    maps = maps_in_other_orders(
        run.truth, run.found, np.zeros(IMAGES, np.int64), 10_000, rule_named("lpirc")
    )
    assert maps.shape[1] < ORDERS
