"""VOC results, YOLO's text files, Parquet, exports: the same rows as from a CSV, and each wrong one named."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from lpirc_score import Detections, Tolerance
from lpirc_score.detections.files import read_detections, read_submission
from lpirc_score.detections.files.tables import EXPORT_HEADER
from lpirc_score.errors import CodedError
from tests.scoring import oracle

TRUTH = replace(
    oracle.ground_truth([1, 2, 5], [1, 4], []),
    image_names=("val/a.jpg", "000005.png", "c.jpg"),
    category_names=("cat", "traffic light"),
    sizes={1: (100, 50), 2: (40, 40)},
)
NO_CONFIDENCE = (
    "5 values, not CLASS X Y WIDTH HEIGHT CONFIDENCE; without a confidence it is ground truth "
    "(write it with save_conf=True)"
)
IMAGES = "; the ids are 1, 2, 5, the names 000005.png to val/a.jpg"
NO_SIZE = "the size of image 'c' is not known: name the folder of the images with --images FOLDER"
TABLE = {
    "image": [1, 5],
    "class": [4, 1],
    "confidence": [0.5, 0.1],
    "xmin": [1.0, 2.0],
    "ymin": [1.0, 2.5],
    "xmax": [3.0, 4.0],
    "ymax": [3.0, 4.5],
}


def written(folder: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def rows(found: Detections) -> list[list[float]]:
    columns = (found.image, found.category, found.confidence, found.boxes)
    return np.column_stack(columns).tolist()


def refused(path: Path) -> CodedError:
    with pytest.raises(CodedError) as failure:
        read_detections(path, TRUTH)
    return failure.value


def test_voc_results_have_their_class_in_the_name_and_images_by_name(
    tmp_path: Path,
) -> None:
    folder = written(
        tmp_path,
        {
            "comp4_det_test_cat.txt": "val/a 0.5 1 2 3 4\n000005 0.25 5 6 7 8.5\n",
            "comp4_det_test_traffic light.txt": "",
        },
    )
    expected = [[1, 1, 0.5, 1, 2, 3, 4], [2, 1, 0.25, 5, 6, 7, 8.5]]
    assert rows(read_detections(folder, TRUTH)) == expected
    one = folder / "comp4_det_test_cat.txt"
    assert rows(read_detections(one, TRUTH)) == expected


def test_every_bad_line_of_voc_results_is_named_with_its_file(tmp_path: Path) -> None:
    folder = written(
        tmp_path,
        {
            "comp4_det_test_cat.txt": "val/a 0.5 1 2 3\nval/b 0.5 1 2 3 4\nc x 1 2 3 4\nc 1 5 2 3 4\n",
            "comp4_det_test_dog.txt": "val/a 0.5 1 2 3 4\n",
        },
    )
    error = refused(folder)
    cat = folder / "comp4_det_test_cat.txt"
    assert error.code == "bad-detections"
    assert error.sentence == (
        f"{cat}: line 1: 5 values, not IMAGE CONFIDENCE XMIN YMIN XMAX YMAX (and 4 more problems in 2 files) "
        "(the folder is read as VOC results, since its files have names like comp4_det_test_CLASS.txt)"
    )
    assert [(one["line"], one["problem"]) for one in error.facts["problems"]] == [  # type: ignore[attr-defined]
        (1, "5 values, not IMAGE CONFIDENCE XMIN YMIN XMAX YMAX"),
        (2, f"image 'val/b' is unknown{IMAGES}"),
        (3, "'x' is not a number"),
        (4, "the box 5, 2, 3, 4 is inverted: xmin, ymin, xmax, ymax must have xmin <= xmax and ymin <= ymax"),
        (1, "the class 'dog' in the file's name is not a category of the ground truth"),
    ]  # fmt: skip
    assert error.facts["total"] == 5


def test_yolo_texts_are_pixels_of_their_images_and_classes_by_place(
    tmp_path: Path,
) -> None:
    folder = written(
        tmp_path,
        {
            "labels/val/a.txt": "1 0.5 0.5 0.2 0.4 0.9\n",
            "labels/000005.txt": "0 0.25 0.5 0.5 1 1e-3\n",
        },
    )
    assert rows(read_detections(folder, TRUTH)) == [
        [2, 1, 0.001, 0, 0, 19, 39],
        [1, 4, 0.9, 40, 15, 59, 34],
    ]
    (folder / "classes.txt").write_text("traffic light\ncat\n")
    by_name = read_detections(folder, TRUTH)
    assert by_name.category.tolist() == [4, 1]


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("val/a.txt", "0 .5 .5 .1 .1\n", NO_CONFIDENCE),
        ("val/a.txt", "2 .5 .5 .1 .1 1\n", "class '2' is not a whole number in 0..1"),
        ("val/a.txt", "0 .5 .5 -1 .1 1\n", "WIDTH -1 or HEIGHT .1 is negative"),
        ("val/a.txt", "0 .5 .5 nan .1 1\n", "'nan' is not a finite number"),
        ("b.txt", "0 .5 .5 .1 .1 1\n", f"image 'b' is unknown{IMAGES}"),
        ("c.txt", "0 .5 .5 .1 .1 1\n", NO_SIZE),
    ],
)  # fmt: skip
def test_a_bad_yolo_line_is_named(
    tmp_path: Path,
    name: str,
    text: str,
    problem: str,
) -> None:
    error = refused(written(tmp_path, {name: text}))
    assert error.sentence == (
        f"{tmp_path / name}: line 1: {problem} (the folder is read as YOLO's text files, "
        "since it has lines of numbers in .txt files)"
    )


def test_names_beside_yolo_texts_must_be_those_of_the_ground_truth(
    tmp_path: Path,
) -> None:
    files = {"val/a.txt": "0 .5 .5 .1 .1 1\n", "classes.txt": "cat\ndog\n"}
    error = refused(written(tmp_path, files))
    assert f"{tmp_path}/classes.txt: category 'dog' is unknown" in error.sentence


def test_an_inverted_box_is_accepted_with_a_warning_where_the_metric_accepts_it(
    tmp_path: Path,
) -> None:
    yolo = written(tmp_path / "yolo", {"val/a.txt": "0 .5 .5 -.1 .1 1\n"})
    voc = written(
        tmp_path / "voc",
        {"comp4_det_test_cat.txt": "val/a 1 9 1 1 9\nval/a 1 1 1 9 9\n"},
    )
    for folder, count in ((yolo, 1), (voc, 2)):
        read = read_submission(folder, TRUTH, Tolerance(inverted_boxes=True))
        assert len(read.detections) == count
        (warning,) = read.warnings
        assert "line 1" in warning
        assert "(1 row of this kind)" in warning


def test_parquet_has_the_columns_of_a_csv_with_numbers_or_names(tmp_path: Path) -> None:
    path = tmp_path / "found.parquet"
    expected = [[1, 4, 0.5, 1, 1, 3, 3], [5, 1, 0.1, 2, 2.5, 4, 4.5]]
    named = {"image": ["val/a", "c.jpg"], "class": ["traffic light", "cat"]}
    renamed = dict(TABLE)
    renamed["category"] = renamed.pop("class")
    for table in (TABLE, TABLE | named, renamed):
        parquet.write_table(pa.table(table), path)
        assert rows(read_detections(path, TRUTH)) == expected


def test_what_is_wrong_with_parquet_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "found.parquet"
    parquet.write_table(pa.table(TABLE | {"image": [1, 9]}), path)
    why = (
        "(read as Parquet, since its name ends in .parquet or its first bytes are PAR1)"
    )
    assert (
        refused(path).sentence == f"{path}: row 2: image '9' is unknown{IMAGES} {why}"
    )
    parquet.write_table(pa.table({"image": [1]}), path)
    assert "the column class or category is missing" in refused(path).sentence
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    error = refused(path)
    assert error.code == "no-pyarrow"
    assert "pip install pyarrow; or write the table as CSV" in error.sentence  # fmt: skip


def test_columns_of_parquet_that_are_there_twice_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "found.parquet"
    for twice in ({"category": [1, 1]}, {"score": [1.0, 1.0]}):
        parquet.write_table(pa.table(TABLE | twice), path)
        assert "and which of them counts is not known" in refused(path).sentence
    arrays = [pa.array(column) for column in TABLE.values()]
    same = pa.Table.from_arrays([*arrays, arrays[2]], [*TABLE, "confidence"])
    parquet.write_table(same, path)
    assert "it has 2 columns 'confidence'; which of them" in refused(path).sentence


@pytest.mark.parametrize("name", TABLE)
def test_truth_values_in_parquet_are_no_numbers(tmp_path: Path, name: str) -> None:
    path = tmp_path / "found.parquet"
    for values in ([True, True], [None, True]):
        parquet.write_table(pa.table(TABLE | {name: values}), path)
        assert "'True' is" in str(refused(path).facts["problems"])


def export(*lines: str) -> str:
    return "\n".join([EXPORT_HEADER, *lines]) + "\n"


def test_rows_of_an_export_that_do_not_count_are_left_out_with_a_warning(
    tmp_path: Path,
) -> None:
    text = export(
        '1,0.5,9,1,"val/a, or so.jpg",1,4,traffic light,0.5,1,1,3,3',
        "1,0.5,9,5,c.jpg,0,1,cat,0.1,2,2.5,4,4.5",
    )
    folder = written(
        tmp_path,
        {"detections.csv": text, "readings.csv": "s,W\n", "events.jsonl": ""},
    )
    for path in (folder, folder / "detections.csv"):
        read = read_submission(path, replace(TRUTH, image_names=("", "", "")))
        assert rows(read.detections) == [[1, 4, 0.5, 1, 1, 3, 3]]
        (warning,) = read.warnings
        assert "counts is 0, since the run was not served the image" in warning
    by_line = read_submission(folder, TRUTH)  # 000005 might be a name
    assert rows(by_line.detections) == [[1, 4, 0.5, 1, 1, 3, 3]]
    assert len(by_line.warnings) == 1


def test_a_bad_line_of_an_export_is_named(tmp_path: Path) -> None:
    good = "1,0.5,9,1,a.jpg,1,4,traffic light,0.5,1,1,3,3"
    path = tmp_path / "detections.csv"
    path.write_text(export(good, good.replace("9,1,", "9,7,"), f"{good},1"))
    error = refused(path)
    assert error.facts["problems"] == [
        {"line": 3, "problem": "image '7' is unknown; the ids are 1, 2, 5"},
        {"line": 4, "problem": "a row needs 13 values, but this one has 14"},
    ]


def test_a_folder_of_several_kinds_says_what_it_holds(tmp_path: Path) -> None:
    files = {
        "val/a.txt": "0 .5 .5 .1 .1 1\n",
        "comp4_det_test_cat.txt": "",
        "results.json": '[{"image_id": 1}]',
    }
    assert refused(written(tmp_path, files)).sentence == (
        f"{tmp_path}: it holds 1 VOC results file (comp4_det_test_cat.txt), 1 JSON file (results.json) "
        "and 1 YOLO text file (a.txt), and which of them counts is not known: "
        "name one file, or a folder with files of one kind"
    )


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"a.json": '{"image_id": 1}'}, "it holds 1 JSON file (a.json): name a file, not its folder"),
        ({"a.xml": "<annotation/>"}, "it holds 1 XML file (a.xml), which is ground truth, and no detections"),
        ({"notes.md": ""}, "no detections are in this folder"),
    ],
)  # fmt: skip
def test_a_folder_without_detections_says_what_it_holds(
    tmp_path: Path,
    files: Mapping[str, str],
    sentence: str,
) -> None:
    assert sentence in refused(written(tmp_path, files)).sentence


def test_six_values_in_a_file_say_where_they_would_be_read(tmp_path: Path) -> None:
    path = tmp_path / "found.txt"
    path.write_text("1 0.5 1 2 3 4\n")
    assert refused(path).sentence == (
        f"{path}: line 1: a row needs 7 values, but this one has 6: '1,0.5,1,2,3,4' "
        "(six values: VOC results need a name like comp4_det_test_CLASS.txt, YOLO's texts their folder)"
    )


def test_what_others_have_made_is_read_as_text_alone(tmp_path: Path) -> None:
    path = tmp_path / "found.parquet"
    parquet.write_table(pa.table(TABLE), path)
    with pytest.raises(CodedError, match=r"it is Parquet"):
        read_submission(path, TRUTH, only_text=True)
    with pytest.raises(CodedError, match="Is a directory"):
        read_submission(tmp_path, TRUTH, only_text=True)
