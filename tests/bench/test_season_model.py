"""The model of a season, on queues that can be worked out by hand."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from bench.season_model import Costs, judged_s, seasons

COSTS = Costs(read_s=1.0, score_s=10.0, keep_s=2.0)


@pytest.mark.parametrize(
    ("arrived_s", "workers", "ended_s"),
    [
        (
            [0, 0],
            1,
            [13, 23],
        ),  # the second is read while the first is scored, and kept last
        (
            [0, 0],
            2,
            [13, 15],
        ),  # both are scored at once; the coordinator keeps one after the other
        ([0, 0, 0], 1, [13, 23, 33]),  # the third is given out when the first is kept
        ([0, 100], 1, [13, 113]),
    ],
)
def test_entries_are_judged_in_order(
    arrived_s: list[float],
    workers: int,
    ended_s: list[float],
) -> None:
    assert judged_s(np.array(arrived_s, np.float64), workers, COSTS).tolist() == ended_s


def test_workers_without_a_core_to_spare_lose_what_the_coordinator_takes() -> None:
    assert COSTS.runs_s(100, 1, cores=2) == pytest.approx(1 + 100 * 10 + 2)
    assert COSTS.runs_s(100, 2, cores=2) == pytest.approx(100 * (10 + 3) / 2, rel=0.03)


def test_more_workers_shorten_every_wait_until_the_coordinator_is_busy() -> None:
    rows = seasons(Costs(0.08, 1.32, 0.013))
    for fewer, more in pairwise(rows):
        assert more["worst (s)"] <= fewer["worst (s)"]
    assert rows[-1]["a day at most"] == pytest.approx(86_400 / 0.093, rel=0.01)
