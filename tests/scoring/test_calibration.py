"""Calibration, counted again in loops over Python numbers, and directed cases at the edges of bins."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from lpirc_score import METRICS, CodedError, calibration, evaluate
from lpirc_score.analysis.judged_rows import judged_categories
from tests.scoring import oracle
from tests.scoring.test_coco import random_set

BOX = (0.0, 0.0, 9.0, 9.0)


def errors_of(rows: list[tuple[float, bool]], bins: int) -> tuple[float, float]:
    """ECE and MCE of (confidence, is true), by the definition."""
    gaps = []
    for place in range(bins):
        low = place / bins
        high = (place + 1) / bins
        last = place == bins - 1
        here = [
            row
            for row in rows
            if low <= row[0] and (row[0] < high or (last and row[0] <= 1))
        ]
        if here:
            mean = math.fsum(row[0] for row in here) / len(here)
            share = sum(row[1] for row in here) / len(here)
            gaps.append((abs(mean - share), len(here)))
    total = sum(size for _, size in gaps)
    ece = math.fsum(gap * size for gap, size in gaps) / max(total, 1)
    return ece, max((gap for gap, _ in gaps), default=0.0)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("bins", [1, 10, 15])
def test_the_errors_are_those_of_the_definition(metric: str, bins: int) -> None:
    for seed in range(25):
        truth, found, _ = random_set(seed)
        got = calibration(
            truth,
            found,
            metric,
            bins=bins,
        )
        judged = [
            *judged_categories(
                truth,
                found,
                metric,
                None,
            )
        ]
        every = []
        for one in judged:
            rows = list(zip(one.confidence.tolist(), one.is_true.tolist(), strict=True))
            every += rows
            ece = errors_of(rows, bins)[0] if rows else None
            assert got.by_category[one.id] == pytest.approx(ece, abs=1e-12)
        ece, mce = errors_of(every, bins) if every else (None, None)
        assert got.ece == pytest.approx(ece, abs=1e-12)
        assert got.mce == pytest.approx(mce, abs=1e-12)
        assert got.detections == len(every) == sum(one.count for one in got.bins)
        counts = evaluate(truth, found, metric).counts
        true = sum(one.true_positives for one in counts.values())
        assert sum(row[1] for row in every) == true


def test_a_confidence_on_an_edge_is_in_the_upper_bin_and_one_in_the_last() -> None:
    truth = oracle.ground_truth([1], [1], [(1, 1, *BOX)])
    rows = [(1, 1, value, *BOX) for value in (1.0, 0.9, 0.3, 0.1, 0.0)]
    bins = calibration(truth, oracle.detections(rows)).bins
    assert [one.count for one in bins] == [
        1,
        1,
        0,
        1,
        0,
        0,
        0,
        0,
        0,
        2,
    ]
    assert (bins[0].low, bins[0].high, bins[-1].high) == (0.0, 0.1, 1.0)
    assert (bins[2].precision, bins[2].confidence, bins[2].gap) == (None, None, None)
    assert (bins[9].precision, bins[9].confidence) == (0.5, 0.95)


def test_a_detector_that_is_right_as_often_as_it_says_has_no_error() -> None:
    truth = oracle.ground_truth([1, 2], [1], [(1, 1, *BOX)])
    rows = [(1, 1, 0.5, *BOX), (2, 1, 0.5, *BOX)]
    assert calibration(truth, oracle.detections(rows)).ece == 0.0


def test_without_detections_there_is_no_error_and_no_category_has_one() -> None:
    truth = oracle.ground_truth([1], [1], [(1, 1, *BOX)])
    got = calibration(truth, oracle.detections([]))
    assert (got.ece, got.mce, got.detections) == (None, None, 0)
    assert got.by_category == {1: None}


@pytest.mark.parametrize("confidence", [-0.01, 1.01, 87.0])
def test_another_scale_of_confidences_is_refused_with_the_value(
    confidence: float,
) -> None:
    truth = oracle.ground_truth([1], [1], [(1, 1, *BOX)])
    found = oracle.detections([(1, 1, confidence, *BOX)])
    with pytest.raises(CodedError, match=f"{confidence:g}") as refused:
        calibration(truth, found)
    assert refused.value.code == "bad-confidence"


def test_a_confidence_that_is_not_a_number_is_refused() -> None:
    truth, found, _ = random_set(3)
    odd = replace(found, confidence=np.full(len(found), np.nan))
    with pytest.raises(CodedError) as refused:
        calibration(truth, odd)
    assert refused.value.code == "not-finite"


@pytest.mark.parametrize("bins", [0, -1, 1001])
def test_a_number_of_bins_that_makes_no_curve_is_refused(bins: int) -> None:
    truth, found, _ = random_set(3)
    with pytest.raises(CodedError, match=f"not {bins}"):
        calibration(truth, found, bins=bins)
