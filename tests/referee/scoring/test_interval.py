from __future__ import annotations

import math

import numpy as np
import pytest

from referee.errors import RefereeError
from referee.scoring.interval import Interval, score_interval


def test_half_of_what_lies_outside_lies_on_either_side() -> None:
    found = Interval.of_samples(50.0, np.arange(101.0), 0.8)
    assert (found.value, found.level) == (50.0, 0.8)
    assert (found.low, found.high) == pytest.approx((10.0, 90.0))


@pytest.mark.parametrize("level", [0.0, 1.0, -0.5, 95.0, math.nan])
def test_a_level_is_a_share(level: float) -> None:
    with pytest.raises(RefereeError, match="between 0 and 1") as failure:
        Interval.of_samples(0.5, np.ones(3), level)
    assert failure.value.code == "bad-level"


MAP = Interval.of_samples(0.25, np.linspace(0.24, 0.26, 1001), 0.95)


def test_an_exact_energy_only_changes_the_scale() -> None:
    found = score_interval(MAP, 2.0, 0.0)
    assert (found.value, found.low, found.high) == (0.125, MAP.low / 2, MAP.high / 2)
    assert found.level == 0.95


def test_a_certain_map_leaves_the_rectangle_of_the_energy() -> None:
    certain = Interval.of_samples(0.5, np.full(20000, 0.5), 0.95)
    found = score_interval(certain, 2.0, 0.01)
    # 95 % of a rectangle of +-1 % is +-0.95 %.
    assert found.low == pytest.approx(0.25 / 1.0095, rel=2e-4)
    assert found.high == pytest.approx(0.25 / 0.9905, rel=2e-4)


def test_both_sources_add_up_and_the_seed_decides() -> None:
    exact, real, same = (score_interval(MAP, 2.0, u, seed=4) for u in (0.0, 0.05, 0.05))
    assert real.low < exact.low < exact.high < real.high
    assert (real.low, real.high) == (same.low, same.high)


@pytest.mark.parametrize(
    ("energy_wh", "relative_uncertainty", "code"),
    [
        (0.0, 0.01, "bad-energy"),
        (math.nan, 0.01, "bad-energy"),
        (2.0, -0.01, "bad-uncertainty"),
        (2.0, 1.0, "bad-uncertainty"),
        (2.0, math.nan, "bad-uncertainty"),
    ],
)
def test_what_cannot_be_is_refused(energy_wh: float, relative_uncertainty: float, code: str) -> None:
    with pytest.raises(RefereeError) as failure:
        score_interval(MAP, energy_wh, relative_uncertainty)
    assert failure.value.code == code
