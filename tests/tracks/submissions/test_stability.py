from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lpirc_testsets import TestSet
from lpirc_tracks.submissions.result_document import parse_result
from lpirc_tracks.submissions.stability import disturbance
from tests.tracks.submissions.model_days import colour_set, packed, result


@pytest.fixture(scope="module")
def test_set(tmp_path_factory: pytest.TempPathFactory) -> TestSet:
    folder: Path = tmp_path_factory.mktemp("sets")
    return colour_set(folder, ("red", 7), ("green", 8))


def said(
    test_set: TestSet,
    share: float | None,
    means_ms: list[float],
) -> str | None:
    """What is said of a run whose passes count one inference each."""
    mean_ms = sum(means_ms) / len(means_ms)
    changes: dict[str, Any] = {
        "latency__processor_share": share,
        "latency__repeat_means_ms": means_ms,
        "latency__mean_ms": mean_ms,
        "latency__min_ms": min(means_ms),
        "latency__max_ms": max(means_ms),
        "latency__p50_ms": mean_ms,
        "latency__p90_ms": max(means_ms),
        "latency__p99_ms": max(means_ms),
        "latency__counted": len(means_ms),
        "latency__total_s": means_ms[0] / 1000,
        "settings__repeats": len(means_ms),
        "timed__end_monotonic_s": 1e6,
    }
    return disturbance(
        parse_result(packed(result(test_set, b"model", [7, 8], **changes)))
    )


@pytest.mark.parametrize(
    ("share", "means_ms"),
    [
        (1.0, [9700.0, 9700.0, 9700.0]),
        (0.96, [9700.0]),
        (None, [9700.0]),  # several threads, or of an earlier program
        (1.0, [9000.0, 10_900.0]),  # within 10 % of the middle
        (0.5, [0.3, 0.3, 0.3]),  # half a millisecond in all is an interruption
        (1.0, [1.0, 100.0]),
    ],
)
def test_a_quiet_run_is_stable_and_what_is_too_short_shows_nothing(
    test_set: TestSet,
    share: float | None,
    means_ms: list[float],
) -> None:
    assert said(test_set, share, means_ms) is None


def test_a_job_beside_the_model_shows_in_the_processor_time_even_if_every_pass_is_the_same(
    test_set: TestSet,
) -> None:
    assert said(test_set, 0.513, [18_900.0, 18_900.0, 18_900.0]) == (
        "the model had a processor for only 51% of its 18900.000 ms, and another job had it for the rest"
    )


def test_a_job_that_comes_or_goes_shows_in_the_passes(test_set: TestSet) -> None:
    assert said(test_set, None, [18_900.0, 9700.0, 9700.0, 9700.0]) == (
        "its passes differ: 18900.000, 9700.000, 9700.000, 9700.000 ms on average"
    )
