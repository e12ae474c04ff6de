"""Importing Open Images."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from lpirc_testsets import (
    TestSet,
    TestSetError,
    check,
    import_open_images,
    read_ground_truth,
)

HEADER = "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside"
BOXES = (
    "0001eeaf4aed83f9,xclick,/m/0cmf2,1,0.25,1,0,0.5,0,0,0,0,0",
    "000595fe6fee6369,xclick,/m/02xwb,1,0,1,0,1,-1,0,1,0,0",
    "0001eeaf4aed83f9,xclick,/m/02xwb,1,0.5,0.525,0.1,0.2,1,1,-1,1,0",
)


@pytest.fixture
def source(tmp_path: Path, jpeg: Callable[..., bytes]) -> Path:
    (tmp_path / "images").mkdir()
    for seed, id_ in enumerate(
        ("0001eeaf4aed83f9", "000595fe6fee6369", "00075905539074f2")
    ):
        (tmp_path / "images" / f"{id_}.jpg").write_bytes(jpeg((40, 30), seed))
    (tmp_path / "classes.csv").write_text(
        "/m/0cmf2,Airplane\n/m/011k07,Tortoise\n/m/02xwb,Fruit\n"
    )
    (tmp_path / "boxes.csv").write_text("\n".join((HEADER, *BOXES)) + "\n")
    return tmp_path


def imported(source: Path, listed: str | None = None) -> TestSet:
    if listed is not None:
        (source / "list.csv").write_text(listed)
    files = [source / name for name in ("boxes.csv", "classes.csv", "images", "out")]
    return import_open_images(*files, None if listed is None else source / "list.csv")


def test_shares_of_an_image_become_inclusive_pixels(source: Path) -> None:
    made = imported(source)
    truth = read_ground_truth(made.folder)
    assert [one.source_id for one in made.images] == [
        "0001eeaf4aed83f9",
        "000595fe6fee6369",
    ]
    # XMin W, YMin H, XMax W - 1, YMax H - 1
    np.testing.assert_allclose(
        truth.boxes,
        [
            [10, 0, 39, 14],
            [20, 3, 20, 5],
            [0, 0, 39, 29],
        ],
        atol=1e-9,
    )
    assert truth.category.tolist() == [1, 3, 3]
    assert truth.category_names == ("Airplane", "Tortoise", "Fruit")
    assert check(made.folder) == ()


def test_a_group_is_a_crowd_and_unknown_is_not(source: Path) -> None:
    truth = read_ground_truth(imported(source).folder)
    assert truth.crowd.tolist() == [False, False, True]
    assert not truth.difficult.any()


def test_a_list_names_the_images_also_those_without_boxes(source: Path) -> None:
    made = imported(source, "ImageID\n00075905539074f2\nvalidation/0001eeaf4aed83f9\n")
    assert [one.source_id for one in made.images] == [
        "0001eeaf4aed83f9",
        "00075905539074f2",
    ]
    assert read_ground_truth(made.folder).image.tolist() == [1, 1]


def test_classes_may_have_a_header(source: Path) -> None:
    classes = source / "classes.csv"
    classes.write_text("LabelName,DisplayName\n" + classes.read_text())
    assert [one.name for one in imported(source).categories] == [
        "Airplane",
        "Tortoise",
        "Fruit",
    ]


def test_a_class_without_name_is_told_since_it_would_shift_the_numbers(
    source: Path,
) -> None:
    (source / "classes.csv").write_text(
        "/m/0cmf2,Airplane\n/m/011k07\n/m/02xwb,Fruit\n/m/x,Fruit\n"
    )
    with pytest.raises(TestSetError) as caught:
        imported(source)
    told = "\n".join(caught.value.problems)
    assert "classes.csv: '/m/011k07' is not LabelName,DisplayName" in told
    assert "classes.csv: category 'Fruit' is listed more than once" in told


def test_every_wrong_box_is_told_with_its_line_and_value(source: Path) -> None:
    wrong = [
        BOXES[0].replace("/m/0cmf2", "/m/none"),
        BOXES[0].replace("0.25", "12"),
        BOXES[0].replace("0.25", "nan"),
        BOXES[0].replace("0001eeaf4aed83f9", "../etc"),
        BOXES[0].replace("0001eeaf4aed83f9", "ffff"),
    ]
    (source / "boxes.csv").write_text("\n".join((HEADER, *BOXES, *wrong)))
    with pytest.raises(TestSetError) as caught:
        imported(source)
    told = "\n".join(caught.value.problems)
    for expected in (
        "line 5: LabelName '/m/none' is not among the classes",
        "line 6: box [12.0, 0.0, 1.0, 0.5] is inverted, or not within 0 and 1",
        "line 7: XMin 'nan'",
        "line 8: '../etc' is not a plain file name",
        "images/ffff: No such file",
    ):
        assert expected in told, expected
    assert not (source / "out").exists()


def test_files_that_are_missing_or_something_else_are_named(source: Path) -> None:
    (source / "boxes.csv").write_text("a,b\n1,2\n")
    with pytest.raises(TestSetError, match="no column ImageID"):
        imported(source)
    (source / "boxes.csv").unlink()
    with pytest.raises(TestSetError, match=r"boxes\.csv: no such file"):
        imported(source)


@pytest.mark.parametrize(
    ("was", "now", "words"),
    [
        ("IsInside", "XMin", "line 1: two columns XMin"),
        ("IsGroupOf", "Group", "line 1: no column IsGroupOf"),
        (BOXES[1], BOXES[1] + ",7", "line 3: 14 values, the header has 13"),
        ("-1,0,1,0,0", "-1,0,7,0,0", "line 3: IsGroupOf '7' is neither 0, 1 nor -1"),
        (BOXES[1], "0" * 140_000, "not CSV in UTF-8 after line 2"),
    ],
)
def test_columns_are_those_of_the_header(
    source: Path,
    was: str,
    now: str,
    words: str,
) -> None:
    text = (source / "boxes.csv").read_text()
    assert was in text
    (source / "boxes.csv").write_text(text.replace(was, now))
    with pytest.raises(TestSetError, match=words):
        imported(source)


def test_a_folder_instead_of_a_file_is_told_in_plain_words(source: Path) -> None:
    (source / "boxes.csv").unlink()
    (source / "boxes.csv").mkdir()
    with pytest.raises(TestSetError, match=r"boxes\.csv: Is a directory$"):
        imported(source)
