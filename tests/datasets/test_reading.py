"""Ground truth from CSV, COCO JSON and a folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpirc_testsets import GroundTruth, TestSet, TestSetError, read_ground_truth

HEADER = "image,class,xmin,ymin,xmax,ymax"


def csv(
    folder: Path,
    *lines: str,
    name: str = "gt.csv",
    encoding: str = "utf-8",
) -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding=encoding)
    return path


def coco(folder: Path, **changes: Any) -> Path:
    document = {
        "images": [
            {"id": 20180000001, "file_name": "a.jpg"},
            {"id": 5, "file_name": "b.jpg"},
        ],
        "categories": [
            {"id": 90, "name": "toothbrush"},
            {"id": 1, "name": "person"},
        ],
        "annotations": [
            {
                "id": 1,
                "image_id": 20180000001,
                "category_id": 90,
                "bbox": [1.5, 2, 3, 4],
                "iscrowd": 0,
                "area": 7.5,
            },
            {
                "id": 2,
                "image_id": 5,
                "category_id": 1,
                "bbox": [0, 0, 0.5, 10],
                "iscrowd": 1,
            },
        ],
    }
    path = folder / "gt.json"
    path.write_text(json.dumps(document | changes), encoding="utf-8")
    return path


def failure(path: Path, images: Path | None = None) -> TestSetError:
    with pytest.raises(TestSetError) as caught:
        read_ground_truth(path, images)
    return caught.value


def check_columns(truth: GroundTruth) -> None:
    count = len(truth.image)
    assert (
        truth.image_ids.dtype
        == truth.category_ids.dtype
        == truth.image.dtype
        == truth.category.dtype
        == np.int64
    )
    assert truth.boxes.shape == truth.coco_boxes.shape == (count, 4)
    assert truth.boxes.dtype == truth.coco_boxes.dtype == truth.area.dtype == np.float64
    assert truth.difficult.dtype == truth.crowd.dtype == np.bool_
    assert (
        truth.difficult.shape
        == truth.crowd.shape
        == truth.area.shape
        == truth.category.shape
        == (count,)
    )
    assert len(truth.image_names) == len(truth.image_ids)
    assert len(truth.category_names) == len(truth.category_ids)


def test_csv_becomes_columns_in_the_order_of_the_file(tmp_path: Path) -> None:
    truth = read_ground_truth(
        csv(tmp_path, HEADER + ",difficult", "9,4,1,2,3.5,4,0", "", "2,7,5,5,5,5,1")
    )
    check_columns(truth)
    assert truth.image_ids.tolist() == [2, 9]
    assert truth.image_names == ("", "")
    assert truth.category_ids.tolist() == [4, 7]
    assert truth.category_names == ("4", "7")
    assert truth.image.tolist() == [9, 2]
    assert truth.boxes.tolist() == [[1, 2, 3.5, 4], [5, 5, 5, 5]]
    assert truth.coco_boxes.tolist() == [[1, 2, 3.5, 3], [5, 5, 1, 1]]
    assert truth.area.tolist() == [10.5, 1]
    assert truth.difficult.tolist() == [False, True]
    assert truth.crowd.tolist() == [False, False]


def test_csv_may_have_a_byte_order_mark_spaces_and_windows_lines(
    tmp_path: Path,
) -> None:
    path = csv(tmp_path, HEADER + "\r", " 1 , 2 ,3,4,5,6\r", encoding="utf-8-sig")
    assert read_ground_truth(path).boxes.tolist() == [[3, 4, 5, 6]]


def test_the_same_object_twice_is_two_objects(tmp_path: Path) -> None:
    assert (
        len(
            read_ground_truth(csv(tmp_path, HEADER, "1,1,1,1,2,2", "1,1,1,1,2,2")).image
        )
        == 2
    )


def test_every_problem_of_a_csv_names_file_line_and_value(tmp_path: Path) -> None:
    rows = [
        "1,1,nan,1,2,2",
        "1,1,1,inf,2,2",
        "1,1,9,1,2,2",
        "x,1,1,1,2,2",
        "1,1.5,1,1,2,2",
        "1_0,1,1,1,2,2",
        "1,1,,1,2,2",
    ]
    error = failure(csv(tmp_path, HEADER, *rows, f"{2**60},1,1,1,2,2"))
    assert error.code == "ground-truth-invalid"
    assert len(error.problems) == 8
    for line, (problem, value) in enumerate(
        zip(
            error.problems,
            ("nan", "inf", "9,1,2,2", "x", "1.5", "1_0", "''", str(2**60)),
            strict=True,
        ),
        start=2,
    ):
        assert f"gt.csv: line {line}:" in problem
        assert value in problem
    assert "7 more" in error.sentence


def test_at_most_twenty_problems_are_reported(tmp_path: Path) -> None:
    error = failure(csv(tmp_path, HEADER, *["1,1,5,5,1,1"] * 50))
    assert len(error.problems) == 20
    assert "49 more" in error.sentence


@pytest.mark.parametrize(
    "header",
    ["", "a,b", "image,class,xmin,ymin,xmax", HEADER + ",other", "1,1,1,1,1,1"],
)
def test_other_columns_are_refused(tmp_path: Path, header: str) -> None:
    error = failure(csv(tmp_path, header, "1,1,1,1,2,2"))
    assert error.code == "ground-truth-unreadable"
    assert "expected" in error.sentence


def test_rows_of_another_length_and_other_flags_are_refused(tmp_path: Path) -> None:
    sentence = failure(csv(tmp_path, HEADER, "1,1,1,1,2,2", "1,1,1,1,2")).sentence
    assert "line 3: 5 values" in sentence
    sentence = failure(csv(tmp_path, HEADER + ",difficult", "1,1,1,1,2,2,yes")).sentence
    assert "`difficult` is 'yes'" in sentence
    assert "no objects" in failure(csv(tmp_path, HEADER)).sentence


def test_a_file_that_is_missing_or_not_text_is_reported(tmp_path: Path) -> None:
    for name in ("no.csv", "no.json", "no"):
        assert failure(tmp_path / name).code == "ground-truth-missing"
    for name in ("bad.csv", "bad.json"):
        (tmp_path / name).write_bytes(b"\xff\xfe\x00\x81")
        error = failure(tmp_path / name)
        assert error.code == "ground-truth-unreadable"
        assert name in error.sentence


def test_an_unclosed_quote_is_reported(tmp_path: Path) -> None:
    code = failure(csv(tmp_path, HEADER, '1,1,1,1,2,"2')).code
    assert code == "ground-truth-unreadable"


def test_an_image_list_adds_images_without_objects(tmp_path: Path) -> None:
    path = csv(tmp_path, HEADER, "5,1,1,1,2,2")
    listed = csv(tmp_path, "image", "9", "5", "1", name="images.csv")
    assert read_ground_truth(path, listed).image_ids.tolist() == [1, 5, 9]
    named = csv(tmp_path, "image,name", "9,x.jpg", "5,y.jpg", name="named.csv")
    assert read_ground_truth(path, named).image_names == ("y.jpg", "x.jpg")


def test_an_image_list_must_hold_every_image_and_none_twice(tmp_path: Path) -> None:
    path = csv(tmp_path, HEADER, "5,1,1,1,2,2")
    sentence = failure(path, csv(tmp_path, "image", "9", name="i.csv")).sentence
    assert "image 5" in sentence
    sentence = failure(path, csv(tmp_path, "image", "5", "5", name="i.csv")).sentence
    assert "more than once" in sentence
    sentence = failure(path, csv(tmp_path, "image", "a.jpg", name="i.csv")).sentence
    assert "'a.jpg'" in sentence
    assert "no images" in failure(path, csv(tmp_path, "image", name="i.csv")).sentence
    code = failure(path, csv(tmp_path, "file", "5", name="i.csv")).code
    assert code == "ground-truth-unreadable"
    assert failure(path, tmp_path / "none.csv").code == "ground-truth-missing"


def test_an_image_list_goes_with_coco_too(tmp_path: Path) -> None:
    listed = csv(tmp_path, "image", "5", "20180000001", "6", name="images.csv")
    truth = read_ground_truth(coco(tmp_path), listed)
    assert truth.image_ids.tolist() == [5, 6, 20180000001]
    assert truth.image_names == ("b.jpg", "", "a.jpg")


def test_coco_becomes_columns_and_its_boxes_stay_untouched(tmp_path: Path) -> None:
    truth = read_ground_truth(coco(tmp_path))
    check_columns(truth)
    assert truth.image_ids.tolist() == [5, 20180000001]
    assert truth.image_names == ("b.jpg", "a.jpg")
    assert truth.category_names == ("person", "toothbrush")
    assert truth.image.tolist() == [20180000001, 5]
    assert truth.coco_boxes.tolist() == [[1.5, 2, 3, 4], [0, 0, 0.5, 10]]
    assert truth.boxes.tolist() == [[1.5, 2, 3.5, 5], [0, 0, -0.5, 9]]
    assert truth.area.tolist() == [7.5, 5]
    assert truth.crowd.tolist() == [False, True]


def test_coco_is_known_by_its_content_and_may_have_a_byte_order_mark(
    tmp_path: Path,
) -> None:
    text = coco(tmp_path).read_text(encoding="utf-8")
    for name in ("instances.json", "instances.txt"):
        (tmp_path / name).write_text(
            "\n " + text if name.endswith("txt") else text,
            encoding="utf-8-sig",
        )
        assert len(read_ground_truth(tmp_path / name).image) == 2


@pytest.mark.parametrize(
    ("annotation", "words"),
    [
        ({"image_id": 6}, "image_id 6"),
        ({"image_id": [5]}, "image_id [5]"),
        ({"category_id": 2}, "category_id 2"),
        ({"bbox": [1, 2, 3]}, "four numbers"),
        ({"bbox": None}, "bbox None is not four numbers"),
        (
            {"bbox": ["1", "2", "3", "4"]},
            "bbox ['1', '2', '3', '4'] is not four numbers",
        ),
        ({"bbox": [1, 2, -3, 4]}, "inverted"),
        ({"bbox": [1, 2, 3, float("nan")]}, "not finite"),
        ({"bbox": [1, 2, 3, float("inf")]}, "not finite"),
        ({"iscrowd": 2}, "iscrowd 2"),
        ({"difficult": "x"}, "difficult 'x'"),
        ({"area": -1}, "area -1"),
        ({"area": float("nan")}, "area nan"),
        ({"id": 2}, "id 2 is used more than once"),
    ],
)
def test_a_wrong_annotation_is_named_with_its_value(
    tmp_path: Path,
    annotation: dict[str, Any],
    words: str,
) -> None:
    good: dict[str, Any] = {
        "id": 2,
        "image_id": 5,
        "category_id": 1,
        "bbox": [0, 0, 1, 1],
    }
    error = failure(coco(tmp_path, annotations=[good, good | {"id": 3} | annotation]))
    assert error.code == "ground-truth-invalid"
    assert "gt.json: annotations[1]" in error.sentence
    assert words in error.sentence


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    error = failure(coco(tmp_path, annotations=[{"image_id": 5, "category_id": 1}, 7]))
    assert "'bbox' is missing" in error.problems[0]
    assert "annotations[1]" in error.problems[1]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"images": []}, "images: the list is empty"),
        ({"categories": []}, "categories: the list is empty"),
        ({"annotations": []}, "no objects"),
        (
            {"images": [{"id": 5}, {"id": 20180000001}, {"id": 5}]},
            "images[2]: id 5 is used more than once",
        ),
        (
            {"images": [{"id": "5"}, {"id": 5}, {"id": 20180000001}]},
            "images[0]: id '5'",
        ),
        ({"categories": [{"id": 1}, {"id": 90}, {"id": 1}]}, "categories[2]: id 1"),
        (
            {
                "categories": [
                    {"id": 1, "name": "x"},
                    {"id": 90, "name": "x"},
                ]
            },
            "name 'x' is used 2 times",
        ),
        (
            {"categories": [{"id": 1, "name": "a\ud800"}, {"id": 90}]},
            r"name 'a\ud800' is not a name",
        ),
    ],
)
def test_a_wrong_list_is_named(
    tmp_path: Path,
    changes: dict[str, Any],
    words: str,
) -> None:
    assert any(
        words in problem for problem in failure(coco(tmp_path, **changes)).problems
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"images": 1, "annotations": [], "categories": []}',
        "[" * 10**5,
    ],
)
def test_json_that_is_not_a_coco_file_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text, encoding="utf-8")
    assert failure(tmp_path / "x.json").code == "ground-truth-unreadable"


def test_a_folder_is_read_as_a_test_set(test_set: TestSet, tmp_path: Path) -> None:
    truth = read_ground_truth(test_set.folder)
    check_columns(truth)
    assert truth.image_ids.tolist() == [1, 2, 3, 4, 5]
    assert len(truth.image) == test_set.objects
    (tmp_path / "nothing").mkdir()
    assert failure(tmp_path / "nothing").code == "testset-not-a-testset"


numbers = st.integers(-1000, 1000)
sides = st.integers(0, 500)


@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.integers(1, 5), numbers, numbers, sides, sides),
        min_size=1,
    )
)
def test_what_is_written_as_csv_is_what_is_read(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[tuple[int, ...]],
) -> None:
    lines = [f"{i},{c},{x},{y},{x + w},{y + h}" for i, c, x, y, w, h in rows]
    truth = read_ground_truth(
        csv(tmp_path_factory.getbasetemp(), HEADER, *lines, name="property.csv")
    )
    assert truth.boxes.tolist() == [[x, y, x + w, y + h] for _, _, x, y, w, h in rows]
    assert truth.image.tolist() == [row[0] for row in rows]
    assert truth.image_ids.tolist() == sorted({row[0] for row in rows})
