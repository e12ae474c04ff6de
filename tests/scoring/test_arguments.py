"""What a program gives by mistake is refused in one sentence that shows it, not by a traceback from within."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lpirc_score
from lpirc_score import (
    CodedError,
    Detections,
    GroundTruth,
    evaluate,
    evaluate_segm,
    read_detections,
    read_truth,
)
from lpirc_testsets import TestSetError

TRUTH = GroundTruth.of_corners({1: "a"}, {1: "x"}, [(1, 1, 0, 0, 9, 9, False)])
FOUND = Detections.from_rows(np.array([(1, 1, 0.5, 0, 0, 9, 9)]))
OF_BOTH = (
    "evaluate",
    "precision_recall_curves",
    "coco_curves",
    "select",
    "pool_categories",
    "ap_by_size",
    "analyse_errors",
    "confusion_matrix",
    "best_f1",
    "calibration",
    "label_candidates",
)
WRONG = [None, 5, "truth.json", [(1, 1, 0.5, 0, 0, 9, 9)], np.zeros((2, 7))]


@pytest.mark.parametrize("name", OF_BOTH)
@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_ground_truth_and_detections_are_asked_for_by_what_makes_them(
    name: str, wrong: Any
) -> None:
    function = getattr(lpirc_score, name)
    with pytest.raises(CodedError, match=r"make one with read_truth"):
        function(wrong, FOUND)
    with pytest.raises(CodedError, match=r"make them with read_detections"):
        function(TRUTH, wrong)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("evaluate", {"iou": "0.5"}),
        ("evaluate", {"metric": ["lpirc"]}),
        ("evaluate", {"blacklist": 5}),
        ("evaluate", {"blacklist": [(1, 1, 1)]}),
        ("evaluate", {"blacklist": [(1.5, 1)]}),
        ("select", {"images": 1}),
        ("select", {"images": ["a.jpg"]}),
        ("select", {"categories": "x"}),
        ("confusion_matrix", {"confidence": "high"}),
        ("best_f1", {"iou": [0.5]}),
        ("best_f1", {"iou": [0.5], "metric": "coco"}),
        ("calibration", {"bins": 2.5}),
        ("calibration", {"bins": True}),
        ("label_candidates", {"confidence": None}),
        ("label_candidates", {"most": "all"}),
        ("evaluate_slices", {"slices": [[1]]}),
    ],
    ids=str,
)
def test_an_argument_of_another_type_is_shown(name: str, wrong: Any) -> None:
    with pytest.raises(CodedError) as refused:
        getattr(lpirc_score, name)(TRUTH, FOUND, **wrong)
    value = next(iter(wrong.values()))
    shown = value[0] if isinstance(value, list) and name != "best_f1" else value
    shown = shown[0] if isinstance(shown, (list, tuple)) and shown[0] == 1.5 else shown
    assert repr(shown).strip("[]") in refused.value.sentence


def test_lists_do_as_well_as_arrays() -> None:
    columns = Detections([1, 1], [1, 1], [0.5, 0.25], [[0, 0, 9, 9], [5, 5, 9, 9]])  # type: ignore[arg-type]
    rows = Detections.from_rows([(1, 1, 0.5, 0, 0, 9, 9), (1, 1, 0.25, 5, 5, 9, 9)])  # type: ignore[arg-type]
    assert evaluate(TRUTH, columns) == evaluate(TRUTH, rows)


def test_columns_of_the_right_types_are_not_copied() -> None:
    image = np.array([1], np.int64)
    boxes = np.zeros((1, 4))
    found = Detections(image, image, np.zeros(1), boxes)
    assert found.image is image
    assert found.boxes is boxes


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([(1.5, 1, 0.5, 0, 0, 9, 9)], "the image of row 0 is 1.5, not a whole number"),
        ([(np.nan, 1, 0.5, 0, 0, 9, 9)], "the image of row 0 is nan"),
        (np.zeros((3, 6)), r"the rows have the shape \(3, 6\)"),
        (np.zeros(7), r"the rows have the shape \(7,\)"),
        (None, "rows None is no array of numbers"),
        ([(1, 1, "high", 0, 0, 9, 9)], "is no array of numbers"),
    ],
)
def test_rows_of_another_shape_are_refused(rows: Any, problem: str) -> None:
    with pytest.raises(CodedError, match=problem) as refused:
        Detections.from_rows(rows)
    assert refused.value.code == "bad-columns"


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(CodedError, match=r"boxes has the shape \(2, 4\)"):
        Detections(np.array([1]), np.array([1]), np.zeros(1), np.zeros((2, 4)))


@pytest.mark.parametrize("name", [None, 5, b"truth.json", "", "a\0b"])
def test_only_a_name_is_read(name: Any) -> None:
    for read in (
        lambda: read_truth(name),
        lambda: read_detections(name, TRUTH),
        lambda: evaluate_segm(name, "found.json"),
    ):
        with pytest.raises(CodedError, match="was given as file or folder"):
            read()


def test_a_broken_link_a_folder_and_a_long_name_are_one_sentence_each(
    tmp_path: Path,
) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    (tmp_path / "folder.json").mkdir()
    for name in ("link", "folder.json", "x" * 300):
        path = str(tmp_path / name)
        for read in (
            lambda path=path: read_truth(path),
            lambda path=path: read_detections(path, TRUTH),
            lambda path=path: evaluate_segm(path, path),
        ):
            with pytest.raises((CodedError, TestSetError)) as refused:
                read()
            assert refused.value.sentence.startswith(path[:60])
