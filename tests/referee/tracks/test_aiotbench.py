from __future__ import annotations

import pytest

from referee.errors import RefereeError
from referee.tracks import track_named
from referee.tracks.rules.aiotbench import SuiteScore, SuiteTest, scores, vips, vops_gflops
from tests.referee.tracks.runs import entry, measured

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
        SuiteScore("bee", pytest.approx(5), pytest.approx(10)),
        SuiteScore("ant", pytest.approx(9), pytest.approx(12)),
        SuiteScore("cat", 0.0, 0.0),
    )


def test_a_missing_test_adds_0_and_so_does_one_without_accuracy() -> None:
    assert vips(TABLE[:1]) == vips([TABLE[0], TABLE[3], SuiteTest("bee", "two", "small", 0.0, 9.0)])
    assert (vips([]), vops_gflops([], {})) == (0.0, 0.0)


def test_a_model_without_flops_is_named() -> None:
    with pytest.raises(RefereeError, match="the model 'small'") as caught:
        scores(TABLE, {"large": 2000.0})
    assert caught.value.code == "unknown-flops"


def test_the_track_adds_up_the_runs_of_each_name() -> None:
    track = track_named("aiotbench")
    field = [entry("bee", 1, 25.0, 50.0), entry("ant", 2, 50.0, 100.0), entry("ant", 3, 80.0, 200.0)]
    places = track.rank(field)
    assert [(place.rank, place.entry.name) for place in places] == [(1, "ant"), (2, "bee")]
    assert places[0].verdict.value == pytest.approx(9)
    assert (places[0].verdict.accuracy_percent, places[0].verdict.latency_ms) == (65.0, 150.0)
    assert places[0].verdict.sentence == "2 tests add up to 9.000 valid images/s."
    assert (track.is_suite, track.cooldown_s) == (True, 300.0)
    assert track.measure(measured(25.0, 50.0)).value == pytest.approx(5)
