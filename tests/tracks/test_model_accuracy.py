from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lpirc_testsets import GroundTruth, read_ground_truth
from lpirc_tracks.model_accuracy import coco_ap_percent, mean_iou_percent, top1_percent
from referee.errors import RefereeError

# Inclusive corners: boxes of 20 x 20 pixels.
TRUTH = "image,class,xmin,ymin,xmax,ymax\n1,1,10,10,29,29\n2,3,10,10,29,29\n"


@pytest.fixture
def truth(tmp_path: Path) -> GroundTruth:
    return written(tmp_path, TRUTH)


def written(folder: Path, text: str) -> GroundTruth:
    (folder / "truth.csv").write_text(text)
    return read_ground_truth(folder / "truth.csv", None)


def rows(
    *answers: tuple[float, ...],
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.array(answers, dtype=np.float64).reshape(-1, 7)


def test_the_corners_of_an_answer_are_inside_the_box_like_those_of_the_truth(
    truth: GroundTruth,
) -> None:
    exact = rows((1, 1, 0.9, 10, 10, 29, 29), (2, 3, 0.9, 10, 10, 29, 29))
    assert coco_ap_percent(truth, exact) == pytest.approx(100)
    assert mean_iou_percent(truth, exact) == pytest.approx(100)
    # 20 x 20 against 18 x 20: IoU 0.9 passes nine of the ten thresholds, in pycocotools' arithmetic as well.
    narrow = rows((1, 1, 0.9, 10, 10, 27, 29), (2, 3, 0.9, 10, 10, 27, 29))
    assert coco_ap_percent(truth, narrow) == pytest.approx(90)
    assert mean_iou_percent(truth, narrow) == pytest.approx(90)


def test_an_image_without_answer_is_wrong(truth: GroundTruth) -> None:
    first_only = rows((1, 1, 0.9, 10, 10, 29, 29))
    assert coco_ap_percent(truth, first_only) == pytest.approx(50)
    assert mean_iou_percent(truth, first_only) == pytest.approx(50)
    assert coco_ap_percent(truth, rows()) == 0.0
    assert mean_iou_percent(truth, rows()) == 0.0


def test_categories_that_the_set_does_not_have_are_left_out(truth: GroundTruth) -> None:
    found = rows(
        (1, 90, 1.0, 10, 10, 29, 29),
        (1, 1, 0.9, 10, 10, 29, 29),
        (2, 3, 0.9, 10, 10, 29, 29),
    )
    assert coco_ap_percent(truth, found) == pytest.approx(100)


def test_the_most_confident_box_counts_whatever_its_category(
    truth: GroundTruth,
) -> None:
    found = rows(
        (1, 1, 0.2, 10, 10, 29, 29),
        (1, 7, 0.8, 10, 10, 19, 29),
        (1, 1, 0.8, 10, 10, 29, 29),
    )
    assert mean_iou_percent(truth, found) == pytest.approx(25)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        (TRUTH + "2,1,0,0,5,5\n", "image 2 has 2"),
        ("image,class,xmin,ymin,xmax,ymax\n1,1,10,10,29,29\n", "image 2 has 0"),
    ],
)
def test_an_overlap_needs_one_object_an_image(
    tmp_path: Path,
    text: str,
    word: str,
) -> None:
    (tmp_path / "images.csv").write_text("image\n1\n2\n")
    (tmp_path / "truth.csv").write_text(text)
    ground_truth = read_ground_truth(tmp_path / "truth.csv", tmp_path / "images.csv")
    with pytest.raises(RefereeError, match=word):
        mean_iou_percent(ground_truth, rows())


def test_boxes_in_another_image_are_refused(truth: GroundTruth) -> None:
    for measure in (coco_ap_percent, mean_iou_percent):
        with pytest.raises(RefereeError, match="image 9"):
            measure(truth, rows((9, 1, 0.5, 10, 10, 29, 29)))


def test_top_1_counts_right_answers_over_all_images() -> None:
    labels = [5, 7, 7, 1000]
    assert top1_percent(labels, [(1, 5), (2, 0), (4, 1000)]) == 50.0
    assert top1_percent(np.array(labels), [(1, 5), (2, 7), (3, 7), (4, 1000)]) == 100.0
    assert top1_percent(labels, []) == 0.0


@pytest.mark.parametrize("image", [0, 5])
def test_answers_for_other_images_are_refused(image: int) -> None:
    with pytest.raises(
        RefereeError,
        match=f"image {image} is not in the set of 4 images",
    ):
        top1_percent([5, 7, 7, 1000], [(image, 5)])


def test_an_empty_set_has_no_accuracy() -> None:
    with pytest.raises(RefereeError, match="no images"):
        top1_percent([], [])
