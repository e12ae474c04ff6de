"""Vectors whose answers come from the official programs; they lie beside the project, not in it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from lpirc_score import (
    Counts,
    Detections,
    Evaluation,
    evaluate,
    format_score,
    score,
)
from tests.scoring import oracle

DATA = Path(__file__).parents[3] / "shared" / "data"
NAMES = ("ilsvrc_plain", "ilsvrc_one_image")


@pytest.fixture(autouse=True)
def _need_data() -> None:
    if not DATA.is_dir():
        reason = f"{DATA} is absent: the vectors are not part of the project"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)


def table(
    name: str,
    file: str,
) -> NDArray[np.float64]:
    return np.loadtxt(
        DATA / "vectors" / name / file,
        delimiter=",",
        skiprows=1,
        ndmin=2,
    )


def scored(
    name: str,
    metric: str = "ilsvrc-det",
) -> Evaluation:
    objects = table(name, "gt.csv")
    found = table(name, "det.csv")
    images = sorted(table(name, "images.csv")[:, 0].astype(int).tolist())
    categories = sorted(
        {*objects[:, 1].astype(int).tolist(), *found[:, 1].astype(int).tolist()}
    )
    truth = oracle.ground_truth(images, categories, objects.tolist())
    return evaluate(truth, Detections.from_rows(found), metric)


@pytest.mark.parametrize("name", NAMES)
def test_the_official_evaluator_agrees(name: str) -> None:
    result = scored(name)
    expected = {
        int(category): ap for category, ap in table(name, "expected_ap.csv").tolist()
    }
    assert {category: result.ap[category] for category in expected} == pytest.approx(
        expected,
        abs=1e-12,
    )
    assert result.map == pytest.approx(
        sum(expected.values()) / len(expected),
        abs=1e-12,
    )
    assert result.categories_with_ground_truth == len(expected)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("metric", ["lpirc", "ilsvrc-det"])
def test_counts_are_those_of_the_oracle(
    name: str,
    metric: str,
) -> None:
    result = scored(name, metric)
    objects = table(name, "gt.csv")
    found = table(name, "det.csv")
    truth = oracle.ground_truth(
        sorted(table(name, "images.csv")[:, 0].astype(int).tolist()),
        sorted(result.ap),
        objects.tolist(),
    )
    expected = oracle.answer(truth, [tuple(row) for row in found.tolist()], metric)
    assert result.counts == expected.counts
    assert result.ap == pytest.approx(expected.ap, abs=1e-12)


def test_a_category_without_objects_is_no_part_of_the_mean() -> None:
    result = scored("ilsvrc_one_image")
    assert result.ap[3] is None
    assert result.counts[3] == Counts(
        0,
        0,
        (table("ilsvrc_one_image", "det.csv")[:, 1] == 3).sum(),
    )
    assert result.categories_with_ground_truth == 2


def test_the_champions_have_their_published_scores() -> None:
    rows = np.loadtxt(
        DATA / "tables" / "lpirc_champions.csv",
        delimiter=",",
        skiprows=1,
    )
    assert [format_score(score(row[1], row[2])) for row in rows] == [
        f"{row[3]:.4f}" for row in rows
    ]
