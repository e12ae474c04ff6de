from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from lpirc_score import coco_curves, evaluate, precision_recall_curves
from lpirc_score.metrics import coco_reference
from tests.scoring import oracle
from tests.scoring.test_coco import random_set
from tests.scoring.test_laws import EXACT, contests

BOX = (10.0, 10.0, 29.0, 29.0)


def test_a_point_by_true_positive() -> None:
    truth = oracle.ground_truth(
        [1, 2],
        [1, 2, 3],
        [
            (1, 1, *BOX),
            (2, 1, *BOX),
            (2, 3, *BOX),
        ],
    )
    miss = (90.0, 90.0, 99.0, 99.0)
    rows = [
        (2, 1, 0.3, *BOX),
        (1, 1, 0.9, *BOX),
        (1, 1, 0.5, *miss),
        (1, 2, 0.5, *BOX),
    ]
    curves = precision_recall_curves(truth, oracle.detections(rows))
    assert list(curves) == [1, 3]
    assert curves[1].rank.tolist() == [1, 3]
    assert curves[1].recall.tolist() == [0.5, 1.0]
    assert curves[1].precision.tolist() == [1.0, 2 / 3]
    assert curves[1].confidence.tolist() == [0.9, 0.3]
    assert len(curves[3].rank) == 0


@pytest.mark.parametrize("metric", ["lpirc", "ilsvrc-det", "voc-area"])
@given(contests())
def test_the_area_under_a_curve_is_the_ap(
    metric: str,
    contest: tuple,
) -> None:
    truth, rows, blacklist = contest
    found = oracle.detections(rows)
    result = evaluate(truth, found, metric, blacklist=blacklist)
    curves = precision_recall_curves(truth, found, metric, blacklist=blacklist)
    assert list(curves) == [
        category for category, ap in result.ap.items() if ap is not None
    ]
    for category, curve in curves.items():
        steps = np.diff(curve.recall, prepend=0.0)
        best = np.maximum.accumulate(curve.precision[::-1])[::-1]
        assert result.ap[category] == pytest.approx(float(steps @ best), abs=EXACT)
        assert (np.diff(curve.confidence) <= 0).all()


def test_cocos_curves_are_the_precisions_of_pycocotools(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    evaluators = []

    class Kept(coco_reference.COCOeval):
        def __init__(self, *arguments: object) -> None:
            super().__init__(*arguments)
            evaluators.append(self)

    monkeypatch.setattr(coco_reference, "COCOeval", Kept)
    for seed in range(12):
        truth, found, banned = random_set(seed)
        coco_reference.evaluate_with_pycocotools(truth, found, banned)
        precision = evaluators[-1].eval["precision"][:, :, :, 0, -1]
        curves = coco_curves(truth, found, banned)
        for place, category in enumerate(truth.category_ids.tolist()):
            if (precision[:, :, place] == -1).all():
                assert category not in curves
            else:
                values = curves[category].recall.tolist()
                assert values == evaluators[-1].params.recThrs.tolist()
                values = curves[category].precision_50.tolist()
                assert values == precision[0, :, place].tolist()
                values = curves[category].precision_75.tolist()
                assert values == precision[5, :, place].tolist()
