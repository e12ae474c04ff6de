from __future__ import annotations

import math

import pytest

from lpirc_score import format_score, score
from referee.errors import RefereeError

CHAMPIONS = [
    (0.02971, 1.634, "0.0182"),
    (0.03469, 0.789, "0.0440"),
    (0.24838, 2.082, "0.1193"),
]


@pytest.mark.parametrize(("map_value", "energy_wh", "published"), CHAMPIONS)
def test_published_scores_come_out(
    map_value: float,
    energy_wh: float,
    published: str,
) -> None:
    assert format_score(score(map_value, energy_wh)) == published


def test_no_accuracy_is_no_score() -> None:
    assert score(0.0, 1.5) == 0.0


@pytest.mark.parametrize("energy_wh", [0.0, -0.0, -1.5, math.nan, math.inf, -math.inf])
def test_energy_that_cannot_be_is_refused(energy_wh: float) -> None:
    with pytest.raises(RefereeError, match="above 0 Wh") as failure:
        score(0.5, energy_wh)
    assert failure.value.code == "bad-energy"
