from __future__ import annotations

import math
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pytest

from lpirc_score import METRICS, Counts, Detections, evaluate, read_detections
from lpirc_score.metrics import groups as groups_module
from lpirc_score.metrics import matching as matching_module
from lpirc_score.metrics import ordering as ordering_module
from lpirc_score.metrics.evaluation_result import RULES_VERSION, VERSION
from referee.errors import RefereeError
from tests.scoring import oracle

BOX = (10.0, 10.0, 29.0, 29.0)
HALF = (10.0, 10.0, 29.0, 19.0)  # exactly half of BOX
TRUTH = oracle.ground_truth([1, 2], [1, 2], [(1, 1, *BOX), (2, 1, *BOX)])


def ap(
    rows: list[oracle.DetectionRow],
    metric: str = "lpirc",
    iou: float | None = None,
) -> float | None:
    return evaluate(TRUTH, oracle.detections(rows), metric, iou).ap[1]


def test_an_overlap_of_exactly_one_half_counts() -> None:
    assert ap([(1, 1, 0.9, *HALF)]) == 0.5
    assert ap([(1, 1, 0.9, 10, 10, 29, 18.9)]) == 0.0


def test_a_stricter_iou_replaces_the_usual_one() -> None:
    assert ap([(1, 1, 0.9, *HALF)], iou=0.51) == 0.0


def test_small_objects_are_easier_in_ilsvrc_det() -> None:
    truth = oracle.ground_truth([1], [1], [(1, 1, 0, 0, 3, 3)])
    # 4 of 28 pixels; the object asks for 16/196.
    near = oracle.detections([(1, 1, 0.9, 2, 2, 5, 5)])
    assert evaluate(truth, near, "ilsvrc-det").map == 1.0
    assert evaluate(truth, near, "lpirc").map == 0.0


def test_a_second_detection_of_an_object_is_false() -> None:
    result = evaluate(
        TRUTH,
        oracle.detections(
            [
                (1, 1, 0.9, *BOX),
                (1, 1, 0.8, *BOX),
                (2, 1, 0.7, *BOX),
            ]
        ),
    )
    assert result.counts[1] == Counts(2, 2, 1)
    assert result.ap[1] == (1 + 2 / 3) / 2


def test_of_equal_confidences_the_lower_image_id_comes_first_whatever_arrived_first() -> (
    None
):
    hit = (2, 1, 0.5, *BOX)
    miss = (1, 1, 0.5, 90.0, 90.0, 95.0, 95.0)
    assert ap([hit, miss]) == ap([miss, hit]) == 0.25


def test_of_equal_confidences_in_an_image_the_first_arrival_is_first() -> None:
    hit = (1, 1, 0.5, *BOX)
    miss = (1, 1, 0.5, 90.0, 90.0, 95.0, 95.0)
    assert ap([hit, miss]) == 0.5
    assert ap([miss, hit]) == 0.25


def test_of_equal_overlaps_the_first_object_is_taken() -> None:
    truth = oracle.ground_truth(
        [1],
        [1],
        [
            (1, 1, 0, 0, 9, 9),
            (1, 1, 2, 0, 11, 9),
        ],
    )
    # The first detection meets both alike; the second only the second one: it finds that free.
    rows = oracle.detections(
        [
            (1, 1, 0.9, 1, 0, 10, 9),
            (1, 1, 0.8, 4, 0, 13, 9),
        ]
    )
    assert evaluate(truth, rows).counts[1].true_positives == 2
    swapped = oracle.ground_truth(
        [1],
        [1],
        [
            (1, 1, 2, 0, 11, 9),
            (1, 1, 0, 0, 9, 9),
        ],
    )
    assert evaluate(swapped, rows).counts[1].true_positives == 1


def test_a_taken_object_leaves_the_next_best() -> None:
    truth = oracle.ground_truth(
        [1],
        [1],
        [
            (1, 1, 0, 0, 9, 9),
            (1, 1, 1, 0, 10, 9),
        ],
    )
    rows = oracle.detections(
        [
            (1, 1, 0.9, 0, 0, 9, 9),
            (1, 1, 0.8, 0, 0, 9, 9),
        ]
    )
    assert evaluate(truth, rows).counts[1] == Counts(2, 2, 0)


def test_no_detections_give_zero() -> None:
    result = evaluate(TRUTH, oracle.detections([]))
    assert result.map == 0.0
    assert result.ap == {1: 0.0, 2: None}
    assert result.detections == 0
    assert result.images == 2


def test_no_ground_truth_gives_none_and_never_nan() -> None:
    empty = oracle.ground_truth([1], [1], [])
    result = evaluate(empty, oracle.detections([(1, 1, 0.5, *BOX)]))
    assert result.map is None
    assert result.ap == {1: None}
    assert result.categories_with_ground_truth == 0


def test_blacklisted_pairs_neither_help_nor_harm() -> None:
    rows = oracle.detections(
        [
            (1, 1, 0.9, 90, 90, 99, 99),
            (2, 1, 0.5, *BOX),
        ]
    )
    result = evaluate(TRUTH, rows, blacklist=[(1, 1)])
    assert result.ap[1] == 1.0
    assert result.counts[1] == Counts(1, 1, 0)
    assert result.detections == 2


def test_a_wholly_blacklisted_category_is_no_part_of_the_mean() -> None:
    result = evaluate(
        TRUTH,
        oracle.detections([(1, 1, 0.9, *BOX)]),
        blacklist=[(1, 1), (2, 1), (2, 1)],
    )
    assert result.ap[1] is None
    assert result.map is None
    assert result.categories_with_ground_truth == 0


@pytest.mark.parametrize("metric", METRICS[:2])
def test_crowds_are_left_out_and_difficult_objects_count(metric: str) -> None:
    objects = [(1, 1, *BOX), (2, 1, *BOX)]
    crowded = oracle.ground_truth([1, 2], [1], objects, crowd=[True, False])
    hard = oracle.ground_truth([1, 2], [1], objects, difficult=[True, False])
    rows = oracle.detections([(1, 1, 0.9, *BOX)])
    assert evaluate(crowded, rows, metric).counts[1] == Counts(1, 0, 1)
    assert evaluate(hard, rows, metric).counts[1] == Counts(2, 1, 0)


def test_half_of_the_images_give_half_of_the_map() -> None:
    images = range(1, 41)
    objects = [(image, category, *BOX) for image in images for category in (1, 2, 3)]
    truth = oracle.ground_truth(images, [1, 2, 3], objects)
    rows = oracle.detections([(i, c, 0.5, *box) for i, c, *box in objects if i <= 20])
    assert evaluate(truth, rows).map == 0.5


def test_ids_may_be_sparse_and_huge() -> None:
    images = [-4, 3, 20180000001, 2**53]
    truth = oracle.ground_truth(
        images,
        [5, 90000],
        [(image, 90000, *BOX) for image in images],
    )
    rows = oracle.detections([(image, 90000, 0.5, *BOX) for image in reversed(images)])
    assert evaluate(truth, rows).ap == {5: None, 90000: 1.0}


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ((3, 1, 0.5, *BOX), "unknown-image"),
        ((0, 1, 0.5, *BOX), "unknown-image"),
        ((1, 3, 0.5, *BOX), "unknown-category"),
        ((1, -1, 0.5, *BOX), "unknown-category"),
        ((1, 1, math.nan, *BOX), "not-finite"),
        ((1, 1, 0.5, 0, 0, math.inf, 1), "not-finite"),
    ],
)
def test_what_cannot_be_scored_is_refused(
    row: oracle.DetectionRow,
    code: str,
) -> None:
    with pytest.raises(RefereeError) as failure:
        evaluate(TRUTH, oracle.detections([(1, 1, 0.9, *BOX), row]))
    assert failure.value.code == code
    if code == "not-finite":
        assert "of row 1 of the detections is" in failure.value.sentence


def test_boxes_in_shares_are_told_once(tmp_path: Path) -> None:
    found = oracle.detections([(1, 1, 0.9, 0.1, 0.1, 0.5, 0.5)])
    with pytest.warns(UserWarning, match=r"The detections: all boxes \(1\) lie within"):
        evaluate(TRUTH, found)
    path = tmp_path / "found.csv"
    path.write_text("image,class,confidence,xmin,ymin,xmax,ymax\n1,1,0.9,0,0,1,1\n")
    with pytest.warns(UserWarning, match="csv: all boxes") as told:
        evaluate(TRUTH, read_detections(path, TRUTH))
    assert len(told) == 1


def test_settings_that_cannot_be_are_refused() -> None:
    nothing = oracle.detections([])
    with pytest.raises(RefereeError, match="no metric 'map'"):
        evaluate(TRUTH, nothing, "map")
    for iou in (0.0, -0.5, 1.1, math.nan, math.inf):
        with pytest.raises(RefereeError, match="IoU threshold"):
            evaluate(TRUTH, nothing, iou=iou)
    with pytest.raises(RefereeError, match="has no image 7"):
        evaluate(TRUTH, nothing, blacklist=[(7, 1)])


def test_the_signature_names_every_setting() -> None:
    nothing = oracle.detections([])
    signature = evaluate(TRUTH, nothing).signature
    assert (
        signature == f"lpirc|iou:0.5|blacklist:none|rules:{RULES_VERSION}|v:{VERSION}"
    )
    first = evaluate(
        TRUTH,
        nothing,
        "ilsvrc-det",
        0.75,
        [(1, 1), (2, 1)],
        "0123456789abcdef",
    ).signature
    assert first.startswith("ilsvrc-det|iou:0.75|blacklist:2-")
    assert "|gt:0123456789ab|rules:" in first
    again = evaluate(
        TRUTH,
        nothing,
        "ilsvrc-det",
        0.75,
        [(2, 1), (1, 1), (1, 1)],
        "0123456789abcdef",
    )
    assert again.signature == first


def test_the_version_in_signatures_is_the_program_s() -> None:
    assert version("lpirc-score") == VERSION


def random_contest(
    seed: int,
) -> tuple[list[oracle.ObjectRow], list[oracle.DetectionRow]]:
    chance = np.random.default_rng(seed)
    corner = chance.integers(0, 30, (400, 2)).astype(float)
    boxes = np.hstack([corner, corner + chance.integers(5, 25, (400, 2))])
    where = np.column_stack(
        [
            chance.integers(1, 9, 400),
            chance.integers(1, 4, 400),
        ]
    )
    objects = [
        (int(i), int(c), *box)
        for (i, c), box in zip(where[:100], boxes[:100].tolist(), strict=True)
    ]
    confidences = chance.integers(0, 12, 400) / 10
    rows = zip(where, confidences.tolist(), boxes.tolist(), strict=True)
    return objects, [
        (int(i), int(c), confidence, *box) for (i, c), confidence, box in rows
    ]


@pytest.mark.parametrize("metric", METRICS[:2])
@pytest.mark.parametrize("seed", range(5))
def test_portions_and_sparse_tables_change_nothing(
    metric: str,
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    objects, rows = random_contest(seed)
    truth = oracle.ground_truth(
        range(1, 9),
        [1, 2, 9],
        [(i, 9 if c == 3 else c, *box) for i, c, *box in objects],
    )
    rows = [(i, 9 if c == 3 else c, *rest) for i, c, *rest in rows]
    blacklist = [(1, 1), (2, 9), (8, 2)]
    whole = evaluate(truth, oracle.detections(rows), metric, blacklist=blacklist)
    monkeypatch.setattr(groups_module, "_BATCH", 7)
    monkeypatch.setattr(groups_module, "_WIDEST_SPAN", 0)
    monkeypatch.setattr(matching_module, "_PAIRS_AT_ONCE", 3)
    monkeypatch.setattr(groups_module, "_AT_ONCE", 3)
    monkeypatch.setattr(ordering_module, "WIDEST_BITS", 0)
    result = evaluate(truth, oracle.detections(rows), metric, blacklist=blacklist)
    assert result == whole
    assert (
        whole.counts == oracle.answer(truth, rows, metric, blacklist=blacklist).counts
    )


def test_one_crowded_image_stays_quick() -> None:
    chance = np.random.default_rng(0)
    corner = chance.integers(0, 2000, (2000, 2)).astype(float)
    boxes = np.hstack([corner, corner + 40])
    truth = oracle.ground_truth([1], [1], [(1, 1, *box) for box in boxes.tolist()])
    rows = np.column_stack(
        [np.ones(2000), np.ones(2000), chance.random(2000), boxes + 1]
    )
    assert evaluate(truth, Detections.from_rows(rows)).map > 0.9
