from __future__ import annotations

import pytest

from lpirc_tracks import track_named
from lpirc_tracks.rules.aiotbench import (
    SuiteScore,
    SuiteTest,
    scores,
    vips,
    vops_gflops,
)
from referee.errors import RefereeError
from tests.tracks.runs import measured

# 0.5 / 0.1 s = 5 images/s of 2 GFLOP; 0.8 / 0.2 s = 4 of 0.5 GFLOP; bee: 0.25 / 0.05 s = 5 of 2 GFLOP.
TABLE = (
    SuiteTest("bee", "one", "large", 25.0, 50.0),
    SuiteTest("ant", "one", "large", 50.0, 100.0),
    SuiteTest("ant", "one", "small", 80.0, 200.0),
    SuiteTest("bee", "one", "small", None, None),
    SuiteTest("cat", "one", "small", None, None),
)
MFLOPS = {"large": 2000.0, "small": 500.0, "unused": 1.0}


def test_a_table_by_hand_in_order_of_first_appearance() -> None:
    assert scores(TABLE, MFLOPS) == (
        SuiteScore("bee", pytest.approx(5), pytest.approx(10), ("one small",)),
        SuiteScore("ant", pytest.approx(9), pytest.approx(12)),
        SuiteScore("cat", 0.0, 0.0, ("one large", "one small")),
    )


def test_a_missing_test_adds_0_and_so_does_one_without_accuracy() -> None:
    assert vips(TABLE[:1]) == vips(
        [TABLE[0], TABLE[3], SuiteTest("bee", "two", "small", 0.0, 9.0)]
    )
    assert vips([]) == 0.0
    assert vops_gflops([], {}) == 0.0


def test_a_test_that_got_nothing_right_is_not_missing() -> None:
    (score,) = scores([SuiteTest("bee", "one", "small", 0.0, 9.0)], MFLOPS)
    assert score.vips == 0.0
    assert score.missing == ()


def test_a_model_without_flops_is_named() -> None:
    with pytest.raises(RefereeError, match="the model 'small'") as caught:
        scores(TABLE, {"large": 2000.0})
    assert caught.value.code == "unknown-flops"


def test_a_run_is_worth_its_share_of_the_sum_and_no_board_has_it_alone() -> None:
    track = track_named("aiotbench")
    assert track.measure(measured(25.0, 50.0)).value == pytest.approx(5)
    assert track.is_suite
