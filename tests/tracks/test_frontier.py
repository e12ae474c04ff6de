from __future__ import annotations

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lpirc_tracks.frontier import Frontier, fit
from referee.errors import RefereeError

LATENCIES = st.lists(st.floats(0.1, 1e4), min_size=2, max_size=8)


def test_a_frontier_reads_off_with_its_base() -> None:
    assert Frontier(3, 1, 2).at(8) == pytest.approx(10)
    assert Frontier(3, 1, 10).at(100) == pytest.approx(7)
    assert Frontier(3, 1).at(math.e) == pytest.approx(4)


@pytest.mark.parametrize("latency_ms", [0.0, -1.0, math.nan, math.inf])
def test_there_is_no_frontier_at_a_time_that_is_none(latency_ms: float) -> None:
    with pytest.raises(RefereeError, match="latency above 0 ms"):
        Frontier(1, 1).at(latency_ms)


def test_three_points_by_hand() -> None:
    # ln t = 0, 1, 2 and A = 10, 13, 13: k = 3 / 2, a0 = 12 - 1.5, residuals -0.5, 1, -0.5.
    found = fit([1, math.e, math.e**2], [10, 13, 13])
    assert found.frontier.k == pytest.approx(1.5)
    assert found.frontier.a0 == pytest.approx(10.5)
    assert found.residuals == pytest.approx((-0.5, 1, -0.5))
    assert found.rms == pytest.approx(math.sqrt(0.5))
    assert found.r_squared == pytest.approx(1 - 1.5 / 6)
    assert found.warnings == (
        "3 points are few for two constants: their residuals mean little.",
    )


@pytest.mark.parametrize(
    ("accuracies", "said"),
    [
        ([0.19, 0.25, 0.3], "No accuracy is above 1 %: are they shares of 1? Write 30"),
        ([19, 0.25, 30], "3 points are few"),
    ],
)
def test_accuracies_that_seem_to_be_shares_are_warned_of(
    accuracies: list[float], said: str
) -> None:
    assert fit([1, 2, 3], accuracies).warnings[0].startswith(said)


@given(
    LATENCIES,
    st.floats(0.5, 40),
    st.floats(-50, 50),
    st.sampled_from([math.e, 2.0, 10.0]),
)
def test_points_of_a_frontier_give_it_back(
    latencies: list[float],
    k: float,
    a0: float,
    base: float,
) -> None:
    assume(max(latencies) > 1.1 * min(latencies))
    true = Frontier(k, a0, base)
    found = fit(latencies, [true.at(latency) for latency in latencies], base)
    assert found.frontier.k == pytest.approx(k, rel=1e-6)
    assert found.frontier.a0 == pytest.approx(a0, rel=1e-6, abs=1e-4)
    assert found.rms < 1e-6


@given(LATENCIES, st.data())
def test_residuals_add_up_to_0_and_the_base_changes_none(
    latencies: list[float],
    data: st.DataObject,
) -> None:
    assume(max(latencies) > 1.1 * min(latencies))
    count = len(latencies)
    accuracies = data.draw(st.lists(st.floats(0, 100), min_size=count, max_size=count))
    found = fit(latencies, accuracies)
    other = fit(latencies, accuracies, 10)
    assert sum(found.residuals) == pytest.approx(0, abs=1e-9)
    assert found.residuals == pytest.approx(other.residuals, abs=1e-9)


def test_equal_accuracies_have_no_r_squared() -> None:
    found = fit([1, 2, 3], [0.1, 0.1, 0.1])  # whose mean, rounded, is not 0.1
    assert found.r_squared is None
    assert fit([1, 2, 4], [0, 0, 1e-300]).r_squared is None  # whose squares are 0
    assert found.rms == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("latencies", [[], [7.0], [7.0, 7.0, 7.0]])
def test_one_latency_makes_no_frontier(latencies: list[float]) -> None:
    with pytest.raises(RefereeError, match="two latencies or more") as caught:
        fit(latencies, [50.0] * len(latencies))
    assert caught.value.code == "no-frontier"


def test_what_looks_wrong_is_warned_of() -> None:
    falling = fit([10, 20, 40, 80], [70, 60, 50, 40], target_ms=200)
    assert len(falling.warnings) == 2
    assert "must be above 0" in falling.warnings[0]
    assert (
        "The target 200 ms lies outside the points' 10 to 80 ms." in falling.warnings[1]
    )
    steep = fit([10, 11, 12, 13], [10, 40, 70, 99], target_ms=12)
    assert len(steep.warnings) == 1
    assert "at 9.6 ms, outside 0..100" in steep.warnings[0]
    assert fit([10, 20, 40, 80], [40, 50, 60, 70], target_ms=20).warnings == ()
