"""When the next minute is expected to lower mAP / Wh, for courses of mAP and energy whose best moment is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lpirc_client.stopping import MINUTE_S, Sample, account, expected_score, is_over

WATTS = st.floats(0.5, 50)
IMAGES = 6000


def course(
    map_at: Callable[[float], float],
    watts: float,
    seconds: int,
    step_s: int = 2,
) -> list[Sample]:
    """Samples of a run at 10 images a second that draws `watts` from the log-in on."""
    times = range(step_s, seconds + 1, step_s)
    return [Sample(t, IMAGES - 10 * t, map_at(t), watts * t / 3600) for t in times]


@given(WATTS, st.floats(1e-5, 1e-3), st.integers(4, 300), st.floats(1, 600))
def test_growth_in_a_line_from_the_start_neither_gains_nor_loses(
    watts: float,
    rate: float,
    seconds: int,
    ahead_s: float,
) -> None:
    samples = course(lambda t: rate * t, watts, seconds)
    assert expected_score(samples, ahead_s) == pytest.approx(samples[-1].score)


@given(WATTS, st.floats(1e-4, 1e-3), st.integers(5, 60), st.integers(70, 400))
def test_energy_spent_before_the_first_image_is_a_reason_to_go_on(
    watts: float,
    rate: float,
    idle_s: int,
    seconds: int,
) -> None:
    assume(seconds > idle_s + 10)
    samples = course(lambda t: rate * max(0, t - idle_s), watts, seconds)
    assert not is_over(samples, 0.0)
    assert expected_score(samples, MINUTE_S) > samples[-1].score


@given(WATTS, st.integers(40, 200), st.integers(1, 200))
def test_a_map_that_has_stopped_growing_is_a_reason_to_stop(
    watts: float,
    full_s: int,
    more_s: int,
) -> None:
    seconds = int(full_s + MINUTE_S + 2 + more_s)
    samples = course(lambda t: 0.5 * min(1.0, t / full_s), watts, seconds)
    assert is_over(samples, 0.0)
    assert not is_over(samples, seconds + 1)


@given(WATTS, st.floats(10, 60), st.floats(30, 200))
def test_a_saturating_map_is_left_when_most_of_its_best_score_is_there(
    watts: float,
    idle_s: float,
    half_s: float,
) -> None:
    def map_at(t: float) -> float:
        return 0.8 * (1 - math.exp(-max(0.0, t - idle_s) / half_s))

    samples = course(map_at, watts, 590)
    stopped = next(
        (
            one
            for n, one in enumerate(samples, start=1)
            if one.map and is_over(samples[:n], MINUTE_S)
        ),
        samples[-1],
    )
    best = max(
        (one for one in samples if one.at_s >= MINUTE_S),
        key=lambda one: one.score,
    )
    assert stopped.at_s >= best.at_s
    assert stopped.score >= 0.75 * best.score


@given(WATTS, st.floats(1, 600))
def test_nothing_is_expected_of_images_that_are_not_there(
    watts: float,
    ahead_s: float,
) -> None:
    samples = course(lambda t: 0.001 * t, watts, IMAGES // 10)
    assert samples[-1].left == 0
    assert expected_score(samples, ahead_s) == samples[-1].score


@given(WATTS, st.floats(0.5, 0.9))
def test_no_map_above_one_is_expected(watts: float, reached: float) -> None:
    samples = [
        Sample(0, IMAGES, 0.0, 1e-6),
        Sample(10, IMAGES - 10, reached, watts / 360),
    ]
    assert expected_score(samples, 1e6) <= 1 / (watts / 360)


def test_a_meter_that_counts_back_ends_no_run() -> None:
    samples = [
        Sample(10, 50, 0.2, 2.0),
        Sample(20, 40, 0.3, 1.0),
    ]
    assert expected_score(samples, 10.0) == pytest.approx(0.4 / 1.0)


def test_one_look_or_a_small_loss_ends_no_run() -> None:
    even = course(lambda t: 0.001 * t, 5.0, 200)
    fallen = Sample(202, even[-1].left - 20, 0.75 * even[-1].map, 5.0 * 202 / 3600)
    assert not is_over([*even, fallen], 0.0)
    assert is_over([*even, fallen, replace(fallen, at_s=204)], 0.0)
    slowing = course(lambda t: 0.001 * t - 1e-7 * t * t, 5.0, 200)
    assert expected_score(slowing, MINUTE_S) < slowing[-1].score
    assert not is_over(slowing, 0.0)


def test_one_sample_gives_no_reason_to_stop() -> None:
    assert not is_over([Sample(100.0, 10, 0.5, 2.0)], 0.0)


def test_a_stop_is_compared_with_the_best_one_seen_and_with_going_on() -> None:
    samples = [
        Sample(60, 300, 0.2, 0.5),
        Sample(120, 200, 0.3, 1.0),
    ]
    assert account(samples, 600.0) == {
        "stopped_s": 120,
        "score": pytest.approx(0.3),
        "best_s": 60,
        "best_score": pytest.approx(0.4),
        "expected_at_end": pytest.approx(0.5 / 2.0),  # 200 images take two minutes more
    }
    assert account(samples, 60.0)["expected_at_end"] == pytest.approx(0.4 / 1.5)
