from __future__ import annotations

import csv
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_tracks import Aim, track_named
from tests.contest_day import shared
from tests.tracks.runs import entry, measured

DETECTION = track_named("ovic-detection")
CLASSIFICATION = track_named("ovic-classification")


def test_the_detection_frontier_is_the_published_one() -> None:
    told = [round(DETECTION.accuracy_at(latency) or 0, 2) for latency in (24, 30, 36)]
    assert told == [19.27, 23.04, 26.12]


def test_the_classification_frontier_is_as_implausible_as_published() -> None:
    told = [
        round(CLASSIFICATION.accuracy_at(latency) or 0, 1) for latency in (8, 10, 12)
    ]
    assert told == [81.9, 93.0, 102.1]


def test_the_shipped_constants_are_the_published_table() -> None:
    with shared("tables", "ovic_frontier.csv").open(newline="") as lines:
        for row in csv.DictReader(lines):
            settings = track_named(f"ovic-{row['task']}").settings()
            numbers = [settings[name] for name in ("k", "a0", "target_ms")]
            assert numbers == [float(row[name]) for name in ("k", "a0", "target_ms")]
            assert settings["base"] == math.e


def test_the_metric_is_the_accuracy_above_the_frontier() -> None:
    verdict = DETECTION.measure(measured(25.0, 30.0))
    assert verdict.value == pytest.approx(25 - 23.0406, abs=1e-3)
    assert verdict.is_valid is True
    assert verdict.warnings == ()
    assert verdict.figures["counted_latency_ms"] == 30.0
    assert "25.000 % - a(30.000 ms) = 23.04" in verdict.sentence


def test_the_further_columns_are_those_of_the_contests_own_board() -> None:
    # 20,000 images at 28 ms, all in time, 64.705 % right: 0.64705 over the wall time of 600,000 ms.
    all_in_time = {"images": 20_000, "total_s": 560.0}
    track = CLASSIFICATION.with_settings({"target_ms": 30})
    figures = track.measure(measured(64.705, 28.0, **all_in_time)).figures
    assert [figures[name] for name in track.columns] == pytest.approx(
        [
            0.64705,
            20_000,
            0.64705 / 600_000,
            (49.84607103726407 * math.log(28) - 21.759878323711725) / 100,
        ]
    )
    # At 36 ms five sixths of them are in time, and the images after the wall time count as wrong.
    late = track.measure(
        measured(
            50.0,
            36.0,
            images=20_000,
            processed=16_667,
            total_s=600.012,
            longest_ms=40.0,
        )
    ).figures
    assert late["accuracy_on_classified"] == pytest.approx(0.5 * 20_000 / 16_667)
    assert late["accuracy_per_ms"] == pytest.approx(0.5 / 600_012)
    at = {
        latency: DETECTION.measure(measured(25.0, latency, total_s=0.3)).figures
        for latency in (5, 24, 30, 36)
    }
    assert [round(100 * one["reference_accuracy"], 2) for one in at.values()] == [
        19.27,
        19.27,
        23.04,
        26.12,
    ]
    assert at[30]["accuracy_on_classified"] == 0.25
    assert (
        "accuracy_on_classified"
        not in DETECTION.measure(measured(25.0, 36.0, processed=8, total_s=0.3)).figures
    )


def test_faster_than_four_fifths_of_the_target_counts_as_four_fifths() -> None:
    at_24, at_5 = (
        DETECTION.measure(measured(25.0, latency)) for latency in (24.0, 5.0)
    )
    assert at_5.value == at_24.value == pytest.approx(25 - 19.27, abs=0.005)
    assert at_5.latency_ms == 5.0
    assert at_5.figures["counted_latency_ms"] == 24.0
    assert at_5.sentence.startswith(
        "5.000 ms counts as 24 ms: 25.000 % - a(24.000 ms) = 19.2"
    )
    assert at_24.sentence.startswith("25.000 % - a(24.000 ms) = 19.2")


def test_the_frontier_that_is_drawn_is_the_one_that_counts() -> None:
    for latency in (5.0, 24.0, 30.0, 36.0):
        verdict = DETECTION.measure(measured(25.0, latency, images=10, total_s=0.3))
        assert DETECTION.accuracy_at(latency) == verdict.figures["frontier_percent"]
    assert DETECTION.accuracy_at(36.1) is None


def test_slower_than_six_fifths_of_the_target_is_not_valid() -> None:
    last = DETECTION.measure(measured(25.0, 36.0, images=10, total_s=0.3))
    assert last.value == pytest.approx(25 - 26.12, abs=0.005)
    late = DETECTION.measure(
        measured(25.0, math.nextafter(36.0, 99), images=10, total_s=0.3)
    )
    assert late.value is None
    assert late.is_valid is False
    assert "36.000 ms is above 36 ms, 1.2 times the target 30 ms" in late.sentence


def test_a_run_past_its_budget_is_not_valid_and_one_inference_is_forgiven() -> None:
    def run(total_s: float) -> bool:
        return DETECTION.measure(
            measured(25.0, 30.0, total_s=total_s, longest_ms=40.0)
        ).is_valid

    assert [run(total_s) for total_s in (0.36, 0.4, 0.41)] == [True, True, False]
    late = DETECTION.measure(measured(25.0, 30.0, images=10, total_s=0.4))
    assert late.sentence == (
        "The run took 0.4 s, its budget for 10 images is 0.36 s; measure it again with that budget."
    )


def test_every_detection_run_of_a_valid_latency_may_end_and_the_budget_follows_the_target() -> (
    None
):
    """OVIC names no budget for detection: at 34 ms, M = 5.35 became "not valid" by one of 30 ms x images."""
    whole = DETECTION.measure(measured(30.504, 34.0, images=1000, total_s=33.966))
    assert whole.value == pytest.approx(5.35, abs=0.005)
    longest = DETECTION.measure(measured(30.0, 36.0, images=1000))
    assert longest.is_valid
    other = DETECTION.with_settings({"target_ms": 100, "high_factor": 1.5})
    assert other.budget_s(4) == 0.6
    assert other.settings()["budget_ms"] == 150
    assert CLASSIFICATION.with_settings({"target_ms": 100}).budget_s(4) == 0.12


def test_an_implausible_frontier_is_warned_of_with_every_verdict() -> None:
    (warning,) = CLASSIFICATION.warnings()
    assert "it expects 102.10 % at 12 ms, outside 0..100" in warning
    assert CLASSIFICATION.measure(measured(70.0, 10.0)).warnings == (warning,)
    assert CLASSIFICATION.measure(measured(70.0, 20.0)).warnings == (warning,)
    refitted = CLASSIFICATION.with_settings({"k": 12.5, "a0": 40})
    assert refitted.warnings() == ()
    at_target = DETECTION.with_settings({"a0": 100})
    assert "at 30 ms, outside" in at_target.warnings()[0]


def test_constants_base_target_and_factors_are_configuration() -> None:
    track = track_named(
        "ovic-detection",
        {
            "k": 10,
            "a0": 1,
            "base": 10,
            "target_ms": 100,
            "low_factor": 1,
            "high_factor": 2,
            "budget_ms": 500,
        },
    )
    assert track.measure(measured(50.0, 10.0)).value == pytest.approx(50 - 21)
    assert track.measure(measured(50.0, 200.0)).is_valid
    assert not track.measure(measured(50.0, 201.0)).is_valid
    assert track.budget_s(4) == 2.0
    assert track.aim() == Aim("target", 100.0)
    assert track.with_settings({"base": "e"}).settings()["base"] == math.e


@given(
    accuracy=st.floats(0, 100),
    latency_ms=st.floats(1e-9, 1e12),
    k=st.floats(-1e6, 1e6),
    a0=st.floats(-1e6, 1e6),
    base=st.floats(1, 1e6, exclude_min=True),
)
def test_the_metric_is_a_finite_number_or_none(
    accuracy: float,
    latency_ms: float,
    k: float,
    a0: float,
    base: float,
) -> None:
    track = DETECTION.with_settings({"k": k, "a0": a0, "base": base})
    value = track.measure(measured(accuracy, latency_ms, total_s=0.1)).value
    assert (value is None) == (latency_ms > 36)
    assert value is None or math.isfinite(value)


def test_equal_metrics_share_a_rank_and_what_is_not_valid_has_none() -> None:
    field = [
        entry("late", 1, 90.0, 99.0, total_s=0.1),
        entry("third", 4, 20.0, 25.0),
        entry("second", 3, 25.0, 20.0),
        entry("first", 2, 25.0, 24.0),
    ]
    places = DETECTION.rank(field)
    assert [(place.rank, place.entry.name) for place in places] == [
        (1, "first"),
        (1, "second"),
        (3, "third"),
        (None, "late"),
    ]
    assert DETECTION.rank([]) == ()
