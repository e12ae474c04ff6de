"""Latency figures, computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from lpirc_client.harness.latency import is_stable, summarize


@pytest.mark.parametrize(
    ("means_ms", "stable"),
    [
        ([], False),
        ([10.0, 10.0], False),
        ([10.0, 10.0, 10.0], True),
        ([9.8, 10.0, 10.2], True),  # 0.2 around 10 are just 2 %
        ([9.79, 10.0, 10.2], False),
        ([50.0, 9.9, 10.0, 10.1], True),  # only the last three count
        ([10.0, 10.0, 10.0, 11.0], False),
    ],
)
def test_a_mean_is_stable_when_the_last_three_lie_within_2_percent(
    means_ms: list[float],
    stable: bool,
) -> None:
    assert is_stable(means_ms) is stable


def test_figures_are_of_all_counted_inferences_and_the_total_of_the_first_repeat() -> (
    None
):
    repeats = [
        np.array([1_000_000, 2_000_000, 3_000_000]),
        np.array([4_000_000, 5_000_000]),
    ]
    assert summarize(repeats, 9_000_000) == {
        "mean_ms": 3.0,
        "sd_ms": pytest.approx(2.5**0.5),
        "p50_ms": 3.0,
        "p90_ms": pytest.approx(4.6),
        "p99_ms": pytest.approx(4.96),
        "min_ms": 1.0,
        "max_ms": 5.0,
        "counted": 5,
        "first_ms": 9.0,
        "total_s": pytest.approx(0.006),
        "repeat_means_ms": [2.0, 4.5],
        "is_stable": False,
    }


def test_a_single_inference_has_no_spread() -> None:
    assert summarize([np.array([2_000_000])], 1)["sd_ms"] == 0.0
