import json
from pathlib import Path

import numpy as np
import pytest

from referee.scoring import Detections
from referee.scoring.error_types import ErrorType, analyse_as_tidecv
from testsets import GroundTruth
from testsets.boxes import corners_from_coco

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


def of_coco(objects: list, found: list) -> tuple[GroundTruth, Detections]:
    table, rows = np.array(objects, np.float64).reshape(-1, 7), np.array(found, np.float64).reshape(-1, 7)
    ids = [np.union1d(table[:, at], rows[:, at]).astype(np.int64) for at in (0, 1)]
    image, category, crowd = table[:, 0].astype(np.int64), table[:, 1].astype(np.int64), table[:, 6] > 0
    boxes = np.ascontiguousarray(table[:, 2:6])
    truth = GroundTruth(
        *(ids[0], ("",) * len(ids[0]), ids[1], ("",) * len(ids[1]), image, category),
        *(corners_from_coco(boxes), np.zeros(len(table), np.bool_), crowd, boxes[:, 2] * boxes[:, 3], boxes),
    )
    corners = corners_from_coco(rows[:, 3:])
    return truth, Detections.from_rows(np.column_stack([rows[:, :3], corners])).__class__(
        rows[:, 0].astype(np.int64), rows[:, 1].astype(np.int64), rows[:, 2], corners, rows[:, 3:].copy()
    )


@pytest.mark.parametrize("vector", VECTORS)
def test_the_numbers_are_those_of_tidecv(vector: dict) -> None:
    truth, found = of_coco(vector["objects"], vector["detections"])
    got = analyse_as_tidecv(truth, found, vector["iou"])
    assert got.map * 100 == pytest.approx(vector["ap"], abs=1e-9)
    gains = {NAMES[type_]: gain * 100 for type_, gain in got.gains.items()}
    assert gains == pytest.approx(vector["gains"], abs=1e-9)
    counts = {NAMES[type_]: count for type_, count in got.counts.items() if NAMES[type_] in vector["counts"]}
    assert counts == vector["counts"]
