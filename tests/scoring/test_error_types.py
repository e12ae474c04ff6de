"""The types of errors and what they cost: as tidecv says, and as judging the mended rows says."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpirc_score import METRICS, Detections, evaluate
from lpirc_score.analysis.error_types import (
    OF_DETECTIONS,
    ErrorType,
    analyse_errors,
    worst_images,
)
from lpirc_testsets import GroundTruth
from lpirc_testsets.box_corners import corners_from_coco
from referee.errors import RefereeError
from tests.scoring import oracle
from tests.scoring.mending import mended
from tests.scoring.test_laws import contests

VECTORS = json.loads((Path(__file__).parent / "tidecv/vectors.json").read_text())
NAMES = {
    ErrorType.CLASSIFICATION: "Cls",
    ErrorType.LOCALISATION: "Loc",
    ErrorType.BOTH: "Both",
    ErrorType.DUPLICATE: "Dupe",
    ErrorType.BACKGROUND: "Bkg",
    ErrorType.MISSED: "Miss",
    ErrorType.FALSE_POSITIVE: "FalsePos",
    ErrorType.FALSE_NEGATIVE: "FalseNeg",
}
EXACT = 1e-12


def of_vector(vector: dict) -> tuple[GroundTruth, Detections]:
    objects = np.array(vector["objects"], np.float64).reshape(-1, 7)
    rows = np.array(vector["detections"], np.float64).reshape(-1, 7)
    ids = [np.union1d(objects[:, at], rows[:, at]).astype(np.int64) for at in (0, 1)]
    boxes = objects[:, 2:6].copy()
    found = rows[:, 3:].copy()
    truth = GroundTruth(
        image_ids=ids[0],
        image_names=("",) * len(ids[0]),
        category_ids=ids[1],
        category_names=("",) * len(ids[1]),
        image=objects[:, 0].astype(np.int64),
        category=objects[:, 1].astype(np.int64),
        boxes=corners_from_coco(boxes),
        difficult=np.zeros(len(objects), np.bool_),
        crowd=objects[:, 6] > 0,
        area=boxes[:, 2] * boxes[:, 3],
        coco_boxes=boxes,
    )
    corners = np.column_stack([rows[:, :3], corners_from_coco(found)])
    return truth, replace(Detections.from_rows(corners), coco_boxes=found)


def as_detections(truth: GroundTruth) -> Detections:
    confidence = np.linspace(1, 0.5, len(truth.image))
    return Detections(
        truth.image,
        truth.category,
        confidence,
        truth.boxes,
        truth.coco_boxes,
    )


@pytest.mark.parametrize("vector", VECTORS)
def test_the_figures_are_those_of_tidecv(vector: dict) -> None:
    got = analyse_errors(*of_vector(vector), "coco", vector["iou"])
    assert got.map * 100 == pytest.approx(vector["ap"], abs=1e-9)
    of_errors = [*OF_DETECTIONS, ErrorType.MISSED]  # tidecv shows a loss as 0
    got_gains = {
        type_: max(gain, 0.0) if type_ in of_errors else gain
        for type_, gain in got.gains.items()
    }
    gains = {NAMES[type_]: gain * 100 for type_, gain in got_gains.items()}
    assert gains == pytest.approx(vector["gains"], abs=1e-9)
    main = {
        NAMES[type_]: count
        for type_, count in got.counts.items()
        if NAMES[type_] in vector["counts"]
    }
    assert main == vector["counts"]


@pytest.mark.parametrize("metric", [*METRICS[:3], "voc-11"])
@settings(max_examples=15)
@given(contests(), st.integers(0, 2**30))
def test_mending_a_type_moves_the_map_by_what_it_gains(
    metric: str,
    contest: tuple,
    seed: int,
) -> None:
    truth, rows, _ = contest
    if metric.startswith("voc"):
        # Of two objects in one place VOC looks at one only, so the other cannot be found.
        places = np.column_stack([truth.image, truth.category, truth.boxes])
        truth = truth.of_objects(
            np.isin(
                np.arange(len(places)),
                np.unique(places, axis=0, return_index=True)[1],
            )
        )
        truth = replace(
            truth,
            difficult=np.random.default_rng(seed).random(len(truth.image)) < 0.2,
        )
    found = oracle.detections(rows)
    analysis = analyse_errors(truth, found, metric)
    before = evaluate(truth, found, metric)
    assert analysis.map == before.map
    if before.map is None:
        assert set(analysis.gains.values()) == {None}
        return
    for type_, gain in analysis.gains.items():
        after = evaluate(*mended(truth, found, analysis, type_), metric)
        assert gain == pytest.approx((after.map or 0.0) - before.map, abs=EXACT)
        assert gain >= 0
    ordered = evaluate(
        *mended(truth, found, analysis, ErrorType.FALSE_POSITIVE),
        metric,
    ).ap
    costs = {
        id_: (ordered[id_] or 0.0) - ap
        for id_, ap in before.ap.items()
        if ap is not None
    }
    assert analysis.confidence_cost == pytest.approx(costs, abs=EXACT)
    share = sum(costs.values()) / max(1, len(costs))
    assert analysis.gains[ErrorType.FALSE_POSITIVE] == pytest.approx(share, abs=EXACT)


@settings(max_examples=15)
@given(contests())
def test_the_types_share_out_what_is_wrong(contest: tuple) -> None:
    truth, rows, _ = contest
    analysis = analyse_errors(truth, oracle.detections(rows))
    assert sum(analysis.counts[type_] for type_ in OF_DETECTIONS) == np.sum(
        analysis.found.outcome >= 0
    )
    assert analysis.counts[ErrorType.FALSE_POSITIVE] == np.sum(
        analysis.found.outcome >= 0
    )
    mends = analysis.found.object[analysis.found.mends]
    assert len(np.unique(mends)) == len(mends)
    assert (
        sorted([*mends, *np.flatnonzero(analysis.found.missed)])
        == np.flatnonzero(analysis.found.unfound).tolist()
    )


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("vector", VECTORS[:3])
def test_ground_truth_against_itself_has_no_errors(
    metric: str,
    vector: dict,
) -> None:
    truth, _ = of_vector(vector)
    truth = truth.of_objects(~truth.crowd)
    found = as_detections(truth)
    analysis = analyse_errors(truth, found, metric)
    assert set(analysis.gains.values()) == set(analysis.counts.values()) == {0.0}
    assert set(analysis.confidence_cost.values()) <= {0.0}
    assert worst_images(truth, found, analysis) == ()


@settings(max_examples=15)
@given(contests(), st.randoms(use_true_random=False))
def test_neither_the_names_of_images_nor_the_scale_of_confidences_matter(
    contest: tuple,
    chance: object,
) -> None:
    truth, rows, _ = contest
    found = oracle.detections(rows)
    found = replace(
        found,
        confidence=np.random.default_rng(len(rows)).permutation(len(rows)) + 1.0,
    )
    shuffled = truth.image_ids.tolist()
    chance.shuffle(shuffled)
    renamed = dict(zip(truth.image_ids.tolist(), shuffled, strict=True))
    other_truth = replace(
        truth,
        image=np.array([renamed[one] for one in truth.image.tolist()], np.int64),
    )
    other = replace(
        found,
        image=np.array([renamed[one] for one in found.image.tolist()], np.int64),
        confidence=1
        - 1 / found.confidence
        - found.category,  # another scale in each category
    )
    analysis = analyse_errors(truth, found)
    after = analyse_errors(other_truth, other)
    assert (
        after.counts[ErrorType.FALSE_POSITIVE]
        == analysis.counts[ErrorType.FALSE_POSITIVE]
    )
    for type_ in (
        ErrorType.FALSE_POSITIVE,
        ErrorType.FALSE_NEGATIVE,
        ErrorType.BACKGROUND,
        ErrorType.BOTH,
    ):
        assert after.gains[type_] == pytest.approx(analysis.gains[type_], abs=EXACT)
    costs = [
        {
            renamed[each.image] if one is analysis else each.image: each.cost
            for each in worst_images(*given_, one)
        }
        for given_, one in (
            ((truth, found), analysis),
            ((other_truth, other), after),
        )
    ]
    assert costs[0] == pytest.approx(costs[1], abs=EXACT)


def test_each_type_is_told_by_what_the_detection_overlaps() -> None:
    box = (0, 0, 9, 9)
    aside = (0, 6, 9, 15)
    apart = (50, 50, 59, 59)
    truth = oracle.ground_truth(
        [1, 2],
        [1, 2],
        [
            (1, 1, *box),
            (2, 2, *box),
            (2, 1, *apart),
        ],
    )
    rows = [
        (1, 1, 0.9, *box),
        (1, 1, 0.8, *box),  # found already
        (1, 1, 0.7, *apart),
        (2, 1, 0.6, *box),  # a 2
        (2, 2, 0.5, *aside),
        (2, 1, 0.4, *aside),
    ]
    analysis = analyse_errors(truth, oracle.detections(rows))
    named = ["duplicate", "background", "classification", "localisation", "both"]
    assert [OF_DETECTIONS[place] for place in analysis.found.outcome[1:]] == named
    assert analysis.found.object.tolist() == [0, -1, -1, 1, 1, -1]
    # The first of two on one object.
    assert analysis.found.mends.tolist() == [
        False,
        False,
        False,
        True,
        False,
        False,
    ]
    assert np.flatnonzero(analysis.found.missed).tolist() == [2]


def test_an_image_costs_what_its_errors_take() -> None:
    box = (0, 0, 9, 9)
    apart = (50, 50, 59, 59)
    truth = oracle.ground_truth(
        [1, 2, 3],
        [1, 2],
        [
            (1, 1, *box),
            (2, 1, *box),
            (3, 2, *box),
        ],
    )
    rows = [
        (3, 1, 0.9, *apart),
        (1, 1, 0.8, *box),
        (1, 1, 0.7, *apart),
        (3, 2, 0.6, *box),
    ]
    found = oracle.detections(rows)
    analysis = analyse_errors(truth, found)
    # The true one of rank 2 would have rank 1, of two objects of one of two categories; nothing is below the other.
    assert analysis.cost.tolist() == [0.125, 0, 0, 0]
    worst = worst_images(truth, found, analysis)
    assert [(one.image, one.cost, one.false, one.unfound) for one in worst] == [
        (2, 0.25, 0, 1),
        (3, 0.125, 1, 0),
    ]
    assert worst[1].detections.tolist() == [0, 3]
    assert worst[1].objects.tolist() == [2]
    assert len(worst_images(truth, found, analysis, 1)) == 1


_EMPTY = {
    "no detections": ([1], [1], [(1, 1, 0, 0, 9, 9)], []),
    "no objects": ([1], [1], [], [(1, 1, 0.5, 0, 0, 9, 9)]),
    "no images": ([], [], [], []),
    "a category without objects": (
        [1],
        [1, 2],
        [(1, 1, 0, 0, 9, 9)],
        [(1, 2, 0.5, 0, 0, 9, 9)],
    ),
    "nothing at all": ([1], [1], [], []),
}


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("crowd", [False, True])
@pytest.mark.parametrize("case", _EMPTY)
def test_what_is_not_there_costs_nothing(
    case: str,
    crowd: bool,
    metric: str,
) -> None:
    images, categories, objects, rows = _EMPTY[case]
    truth = oracle.ground_truth(
        images,
        categories,
        objects,
        crowd=[crowd] * len(objects),
    )
    found = oracle.detections(rows)
    analysis = analyse_errors(truth, found, metric)
    figures = [
        *(gain for gain in analysis.gains.values() if gain is not None),
        *analysis.confidence_cost.values(),
        *analysis.cost,
    ]
    assert all(math.isfinite(figure) and figure >= 0 for figure in figures)
    assert (analysis.map is None) == (None in analysis.gains.values())
    worst = worst_images(truth, found, analysis)
    assert all(math.isfinite(one.cost) for one in worst)


@pytest.mark.parametrize("metric", METRICS)
def test_what_evaluate_refuses_the_analysis_refuses_alike(metric: str) -> None:
    truth = oracle.ground_truth([1], [1], [(1, 1, 0, 0, 9, 9)])
    box = (0, 0, 9, 9)
    for row, code in (
        ((2, 1, 0.5, *box), "unknown-image"),
        ((1, 2, 0.5, *box), "unknown-category"),
        ((1, 1, math.nan, *box), "not-finite"),
        ((1, 1, 0.5, 0, 0, math.inf, 9), "not-finite"),
    ):
        with pytest.raises(RefereeError) as refused:
            analyse_errors(truth, oracle.detections([row]), metric)
        assert refused.value.code == code


@pytest.mark.parametrize("metric", ["lpirc", "ilsvrc-det", "voc-area", "voc-11"])
@pytest.mark.parametrize(
    ("right", "type_"),
    [
        (
            399.0,
            ErrorType.DUPLICATE,
        ),  # 200 x 200 in 400 x 200: an overlap of exactly a half
        (399.0 + 1e-9, ErrorType.LOCALISATION),
        (300.0, ErrorType.DUPLICATE),
    ],
)
def test_a_second_detection_that_overlaps_by_exactly_the_threshold_is_a_duplicate(
    metric: str,
    right: float,
    type_: ErrorType,
) -> None:
    truth, _ = of_vector({"objects": [[1, 1, 0, 0, 200, 200, 0]], "detections": []})
    rows = np.array(
        [
            [1, 1, 0.9, 0, 0, 199, 199],
            [1, 1, 0.8, 0, 0, right, 199],
        ],
        np.float64,
    )
    analysis = analyse_errors(truth, Detections.from_rows(rows), metric, 0.5)
    assert {one for one in OF_DETECTIONS if analysis.counts[one]} == {type_}


def test_a_first_detection_that_overlaps_by_exactly_the_threshold_finds_its_object() -> (
    None
):
    truth, _ = of_vector({"objects": [[1, 1, 0, 0, 200, 200, 0]], "detections": []})
    rows = np.array(
        [
            [1, 1, 0.9, 0, 0, 399, 199],
            [1, 1, 0.8, 0, 0, 399, 199],
        ],
        np.float64,
    )
    analysis = analyse_errors(truth, Detections.from_rows(rows), "lpirc")
    assert analysis.map == 1.0
    assert analysis.counts[ErrorType.DUPLICATE] == 1
